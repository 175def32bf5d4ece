"""What each fast path saves: CPU of the product without it, over the CPU of the product with all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack

from assistant.toolkit.fast_paths import TESTED_VERSIONS
from benchmarks.bench import Bench
from benchmarks.compare import Comparison, compare
from benchmarks.report import Line, Section, beside_of
from benchmarks.targets import PRODUCT, Target, product, site
from benchmarks.workload import Workload

# The CPU without a fast path, over the CPU with it, of the row that gains most. What gains less is removed.
GOAL = 1.1
ROWS = {
    "turn": Workload(tokens=1, answers=20),
    "long answer": Workload(tokens=4_000, answers=2),
    "50 streams": Workload(tokens=200, streams=50),
    "100 paced streams": Workload(tokens=250, streams=100, rate=50, opening_seconds=1.0),
}


def measure(bench: Bench) -> Iterator[Section]:
    """All servers run side by side and are measured in turn."""
    with ExitStack() as stack:
        made = stack.enter_context(site(bench.provider_url))
        targets: list[Target] = [
            stack.enter_context(product(made)),
            *(stack.enter_context(product(made, name, {"WITHOUT_FAST_PATH": name})) for name in TESTED_VERSIONS),
        ]
        rows = {title: bench.sized(workload) for title, workload in ROWS.items()}
        yield _section(asyncio.run(compare(targets, list(rows.values()), bench.rounds)), rows)


def _section(seen: Comparison, rows: dict[str, Workload]) -> Section:
    lines = []
    for name in TESTED_VERSIONS:
        ratios = {title: seen.ratio(name, workload) for title, workload in rows.items()}
        best = max(ratios, key=lambda title: ratios[title])
        lines.append(
            Line(f"without {name}: CPU of {best}", ratios.pop(best), "times", GOAL, True, beside=beside_of(ratios))
        )
    sizes = ", ".join(
        f"{title} ({workload.total_answers:,} answers of {workload.tokens:,} tokens)"
        for title, workload in rows.items()
    )
    how = f"CPU of the server's process without one fast path, over that of {PRODUCT}, for the same: {sizes}; SQLite."
    return Section("What each fast path saves", how, lines)

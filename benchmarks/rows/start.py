"""Start of a process: the time until it serves, and of `import tools` in a script."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median

from benchmarks.bench import Bench
from benchmarks.peers import ROOT
from benchmarks.report import Line, Section
from benchmarks.targets import Product, Site, product, site

IMPORT = """
import sys, time
start = time.perf_counter()
import tools
print(time.perf_counter() - start, "django" in sys.modules)
"""


def measure(bench: Bench) -> Iterator[Section]:
    """Start a process in every round, and import twice as often."""
    with site(bench.provider_url) as made:
        starts = [_start(made) for _ in range(bench.rounds)]
    imports = [_import() for _ in range(bench.rounds * 2)]
    lines = [
        Line("the process serves (wall clock)", median(ready for ready, _ in starts), "s", 2.5, is_work=True),
        Line("the first answer, of one token", median(first for _, first in starts), "s", beside="with connecting"),
        Line("`import tools`, without Django", median(imports), "s", 0.25, is_work=True),
    ]
    how = "uvicorn from its start to an answer of `/healthz`, with files in the page cache and compiled byte code."
    yield Section("Start", how, lines)


def _start(made: Site) -> tuple[float, float]:
    """Return the seconds until the process serves, and from then to the end of its first answer."""
    start = time.monotonic()
    with product(made) as server:
        ready = time.monotonic() - start
        asyncio.run(_first_answer(server))
        return ready, time.monotonic() - start - ready


async def _first_answer(server: Product) -> None:
    client = await server.open(0)
    await server.ask(client, "Hello")
    client.close()
    await client.closed


def _import() -> float:
    done = subprocess.run([sys.executable, "-c", IMPORT], cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, has_django = done.stdout.split()
    if has_django == "True":
        raise RuntimeError("`import tools` has imported Django")
    return float(seconds)

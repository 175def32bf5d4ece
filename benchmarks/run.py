"""Measures and writes `benchmarks/results.md`: `python -m benchmarks.run [core stream ...] [--rounds 5] [--strict]`."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

from benchmarks.bench import MIXED_MINUTES, PAGE_SECONDS, ROUNDS, Bench
from benchmarks.peers import HERE
from benchmarks.processes import started
from benchmarks.report import HELD_THERE, Family, Line, Section, document, now, show
from benchmarks.speed import slowness

FAMILIES = (
    "core",
    "stream",
    "pace",
    "paced_cpu",
    "turn",
    "idle",
    "start",
    "page",
    "visit",
    "tasks",
    "panel",
    "fast_paths",
    "scale",
    "mixed",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", metavar="family", help=f"of {', '.join(FAMILIES)}; default all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true", help="small workloads, to try the benchmark itself")
    parser.add_argument("--mixed-minutes", type=float, default=MIXED_MINUTES)
    parser.add_argument("--page-seconds", type=int, default=PAGE_SECONDS)
    parser.add_argument("--strict", action="store_true", help="end with exit code 1 if a goal was missed")
    options = parser.parse_args()
    if unknown := set(options.families) - set(FAMILIES):
        parser.error(f"no such family: {', '.join(sorted(unknown))}")
    # So that the servers are stopped too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sections: list[Section] = []
    with started([sys.executable, "-m", "benchmarks.provider"]) as provider:
        lengths = (options.mixed_minutes, options.page_seconds)
        bench = Bench(provider.read_line(), options.rounds, options.quick, *lengths)
        for name in options.families or FAMILIES:
            family = _family(name, bench)
            sections += family.sections
            if bench.is_whole(name):  # at once, so that an interrupted run keeps what it measured
                family.keep()
                (HERE / "results.md").write_text(document(FAMILIES))
    return _conclude(sections, strict=options.strict)


def _family(name: str, bench: Bench) -> Family:
    """Measure a family and print each of its sections."""
    sections: list[Section] = []
    speeds: list[float] = []
    loads = [os.getloadavg()[0]]
    for measured in _measured(name, bench):
        section = _at_speed(measured, bench, speeds)
        sections.append(section)
        loads.append(os.getloadavg()[0])
        print(show(section), flush=True)
    return Family(name, sections, median(speeds or [1.0]), now(loads))


def _measured(family: str, bench: Bench) -> Iterator[Section]:
    """Yield the family's sections; an exception counts as a missed goal, and does not stop the other families."""
    try:
        yield from importlib.import_module(f"benchmarks.rows.{family}").measure(bench)
    except Exception as exc:
        traceback.print_exc()
        how = f"Failed: {type(exc).__name__}: {str(exc).splitlines()[0] if str(exc) else ''}"
        yield Section(f"{family.title()}: not measured", how, [Line("measured completely", 0.0, "", 1, True)])


def _at_speed(section: Section, bench: Bench, speeds: list[float]) -> Section:
    """Return the section with the slowness of the machine, which may change during a run on shared hardware."""
    try:
        speeds.append(slowness(bench))
    except Exception:
        traceback.print_exc()
    slow = median(speeds or [1.0])
    return replace(section, lines=[replace(line, slowness=slow) for line in section.lines])


def _conclude(sections: list[Section], *, strict: bool) -> int:
    goals = [line for section in sections for line in section.lines if line.goal is not None]
    missed = [line for line in goals if line.verdict == "missed"]
    there = sum(line.verdict == HELD_THERE for line in goals)
    held = len(goals) - len(missed) - there
    print(f"\nOf {len(goals)} goals {held} held, {there} held at the speed of their machine, {len(missed)} MISSED")
    for line in missed:
        print(f"  missed: {line.what}: {' '.join(line.cells()[1:3])}")
    return 1 if missed and strict else 0


if __name__ == "__main__":
    sys.exit(main())

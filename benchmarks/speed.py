"""The speed of this machine, against that of the machine on which the goals were set."""

from __future__ import annotations

import json
import sys
from statistics import median

from benchmarks.bench import Bench
from benchmarks.processes import started

CHUNKS, TURNS = 200, 5
# CPU milliseconds of a turn with as many chunks of `benchmarks.contestants.typed` on that machine.
THERE = 20.8


def slowness(bench: Bench) -> float:
    """Return how many times as long CPU times are on this machine; 1 is the same speed."""
    answer = "".join(f"word{number % 10} " for number in range(CHUNKS))
    task = json.dumps({"prompt": f"[tokens={CHUNKS}]", "answer": answer, "turns": TURNS})
    with started([sys.executable, "-m", "benchmarks.contestants.typed", bench.provider_url]) as worker:
        seen = []
        for _ in range(4):
            worker.write_line(task)
            seen.append(float(worker.read_line()) * 1000)
    return median(seen[1:]) / THERE

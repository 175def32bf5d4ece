"""How long this machine takes for what was also timed on the machine that the goals were set on."""

from __future__ import annotations

import json
import sys
from statistics import median

from benchmarks.bench import Bench
from benchmarks.processes import started

CHUNKS, TURNS = 200, 5
# CPU milliseconds that a hand-written loop over the openai package's typed client takes there for a turn of as many
# chunks, and here in `benchmarks.contestants.typed`.
THERE = 20.8


def slowness(bench: Bench) -> float:
    """By how much CPU times are longer here; 1 is as fast as there."""
    answer = "".join(f"word{number % 10} " for number in range(CHUNKS))
    task = json.dumps({"prompt": f"[tokens={CHUNKS}]", "answer": answer, "turns": TURNS})
    with started([sys.executable, "-m", "benchmarks.contestants.typed", bench.provider_url]) as worker:
        seen = []
        for _ in range(4):
            worker.write_line(task)
            seen.append(float(worker.read_line()) * 1000)
    return median(seen[1:]) / THERE

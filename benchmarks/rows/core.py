"""The core loop against others' loops: CPU of a turn of 200 streamed chunks, and of turns with tools."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from statistics import median

from benchmarks.bench import Bench
from benchmarks.peers import python_of
from benchmarks.processes import Process, started
from benchmarks.report import Line, Section, number, times

CHUNKS = 200
PLAIN = "".join(f"word{number % 10} " for number in range(CHUNKS))
FOUR = " ".join(f'[call add {{"a": {number}, "b": 2}}]' for number in range(4))
# What is asked, the answer, and the goal in milliseconds.
TASKS = {
    f"a turn of {CHUNKS} chunks": (f"[tokens={CHUNKS}]", PLAIN, 1.6),
    "a turn with one tool round": ('[call add {"a": 1, "b": 2}]', "word0 ", 1.8),
    "a turn with four tools at once": (FOUR, "word0 ", 2.2),
    "a turn with five chained rounds": ("[rounds=5]", "word0 ", 5.0),
}
OURS, TYPED = "ours", "typed"
OTHERS = {"openai-agents": "openai_agents", "LangGraph": "langgraph_agent", "Pydantic AI": "pydantic_agent"}
NAMES = {OURS: "ChatClient", TYPED: "typed loop", **{module: name for name, module in OTHERS.items()}}
LEAST_RATIO = 12.0


def measure(bench: Bench) -> Iterator[Section]:
    """Every contestant in turn, round by round."""
    turns = {OURS: 20, TYPED: 5, **dict.fromkeys(OTHERS.values(), 4)}
    seen: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        workers = {name: stack.enter_context(_worker(bench, name)) for name in turns}
        for _ in range(bench.rounds):
            for name, worker in workers.items():
                for task, (prompt, answer, _) in TASKS.items():
                    worker.say(json.dumps({"prompt": prompt, "answer": answer, "turns": turns[name]}))
                    seen.setdefault((name, task), []).append(float(worker.line()) * 1000)
    yield _section({key: median(values) for key, values in seen.items()})


def _worker(bench: Bench, name: str) -> AbstractContextManager[Process]:
    python = sys.executable if name in (OURS, TYPED) else python_of("frameworks")
    return started([python, "-m", f"benchmarks.contestants.{name}", bench.provider_url])


def _section(medians: dict[tuple[str, str], float]) -> Section:
    lines = []
    for task, (_, _, goal) in TASKS.items():
        others = [f"{NAMES[name]} {number(medians[name, task])}" for name in NAMES if name != OURS]
        lines.append(Line(task, medians[OURS, task], "ms", goal, beside=", ".join(others), is_work=True))
    plain = next(iter(TASKS))
    ratios = {name: medians[name, plain] / medians[OURS, plain] for name in NAMES if name != OURS}
    beside = ", ".join(f"{NAMES[name]} {times(ratio)}" for name, ratio in ratios.items())
    lines.insert(1, Line("the same, against the typed loop", ratios[TYPED], "times less", LEAST_RATIO, True, beside))
    how = "CPU milliseconds of the contestant's process for one turn, the HTTP client included; one tool, `add`."
    return Section("Core loop", how, lines)

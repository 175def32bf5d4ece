"""The core loop against the loops of other packages: CPU of a turn of 200 streamed chunks, and of turns with tools."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from statistics import median

from benchmarks.bench import Bench
from benchmarks.peers import python_of
from benchmarks.processes import Process, started
from benchmarks.report import Line, Section, beside_of, times

CHUNKS, TURNS = 200, 20
WORDS = "".join(f"word{number % 10} " for number in range(CHUNKS))
FOUR = " ".join(f'[call add {{"a": {number}, "b": 2}}]' for number in range(4))
OURS, TYPED = "ours", "typed"
OTHERS = {"openai-agents": "openai_agents", "LangGraph": "langgraph_agent", "Pydantic AI": "pydantic_agent"}
NAMES = {OURS: "ChatClient", TYPED: "typed loop", **{module: name for name, module in OTHERS.items()}}


@dataclass(frozen=True, slots=True)
class Task:
    """A turn that every contestant makes.

    Args:
        title: the title of its row.
        prompt: what is asked.
        answer: the text that has to come.
        goal: how many times the CPU of `ChatClient` the typed loop takes at least.
    """

    title: str
    prompt: str
    answer: str
    goal: float


TASKS = (
    Task(f"a turn of {CHUNKS} chunks", f"[tokens={CHUNKS}]", WORDS, 12.0),
    Task("a turn with one tool round", '[call add {"a": 1, "b": 2}]', "word0 ", 2.0),
    Task("a turn with four tools at once", FOUR, "word0 ", 2.0),
    Task("a turn with five chained rounds", "[rounds=5]", "word0 ", 2.0),
)


def measure(bench: Bench) -> Iterator[Section]:
    """Every contestant gets every task in turn, round by round."""
    seen: dict[tuple[str, Task], list[float]] = {}
    with ExitStack() as stack:
        workers = {name: stack.enter_context(_worker(bench, name)) for name in NAMES}
        for _ in range(bench.rounds):
            for name, worker in workers.items():
                for task in TASKS:
                    seen.setdefault((name, task), []).append(_milliseconds(worker, task))
    yield _section(seen)


def _worker(bench: Bench, name: str) -> AbstractContextManager[Process]:
    python = sys.executable if name in (OURS, TYPED) else python_of("frameworks")
    return started([python, "-m", f"benchmarks.contestants.{name}", bench.provider_url])


def _milliseconds(worker: Process, task: Task) -> float:
    """Return the CPU milliseconds that one turn of the task takes a contestant."""
    worker.write_line(json.dumps({"prompt": task.prompt, "answer": task.answer, "turns": TURNS}))
    return float(worker.read_line()) * 1000


def _section(seen: Mapping[tuple[str, Task], Sequence[float]]) -> Section:
    lines = []
    for task in TASKS:
        cpu = {name: median(seen[name, task]) for name in NAMES}
        others = {NAMES[name]: value for name, value in cpu.items() if name != OURS}
        lines.append(Line(task.title, cpu[OURS], "ms", beside=beside_of(others)))
        rounds = zip(seen[TYPED, task], seen[OURS, task], strict=True)
        ratio = median(typed / ours for typed, ours in rounds)
        beside = ", ".join(f"{name} {times(value / cpu[OURS])}" for name, value in others.items())
        lines.append(Line("the same, against the typed loop", ratio, "times less", task.goal, True, beside))
    how = (
        "CPU milliseconds of the contestant's process for one turn, the HTTP client included; one tool, `add`. Every "
        f"contestant makes the same {TURNS} turns of each kind a round."
    )
    return Section("Core loop", how, lines)

"""Gives one workload to several servers in turn, and compares the CPU time that it takes them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from statistics import median

from benchmarks.load_client import LoadClient
from benchmarks.targets import PRODUCT, Target, close_all
from benchmarks.workload import TOKEN, WARM_UP, Workload

OPENED_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Comparison:
    """CPU seconds of each round by target and workload; NaN where a target did not finish its answers."""

    seconds: Mapping[tuple[str, Workload], Sequence[float]]

    def cpu(self, name: str, workload: Workload) -> float:
        """Return the median CPU seconds of a workload; NaN if no round was finished."""
        return _median(self.seconds[name, workload])

    def per_answer(self, name: str, workload: Workload) -> float:
        """Return the median CPU seconds of one answer, with its turn."""
        return self.cpu(name, workload) / workload.total_answers

    def per_thousand(self, name: str, workload: Workload, turn: Workload) -> float:
        """Return the median CPU seconds of 1,000 tokens, without the turns, which `turn` measures."""
        return _median(self._per_token(name, workload, turn)) * 1000

    def ratio(self, name: str, workload: Workload) -> float:
        """Return how many times the CPU of the product a target takes: the median of the rounds' ratios."""
        return _ratio(self.seconds[name, workload], self.seconds[PRODUCT, workload])

    def ratio_without_turn(self, name: str, workload: Workload, turn: Workload) -> float:
        """Return the same for the tokens alone, without the turns, which `turn` measures."""
        return _ratio(self._per_token(name, workload, turn), self._per_token(PRODUCT, workload, turn))

    def _per_token(self, name: str, workload: Workload, turn: Workload) -> list[float]:
        pairs = zip(self.seconds[name, workload], self.seconds[name, turn], strict=True)
        return [
            (whole / workload.total_answers - overhead / turn.total_answers) / (workload.tokens - turn.tokens)
            for whole, overhead in pairs
        ]


def _ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    return _median([one / own for one, own in zip(theirs, ours, strict=True)])


def _median(values: Sequence[float]) -> float:
    finished = [value for value in values if not isnan(value)]
    return median(finished) if finished else nan


async def compare(targets: Sequence[Target], workloads: Sequence[Workload], rounds: int) -> Comparison:
    """Run the workloads on every target in turn, round by round."""
    seconds: dict[tuple[str, Workload], list[float]] = {}
    for number in range(rounds):
        for target in targets:
            for workload in workloads:
                seconds.setdefault((target.name, workload), []).append(await _cpu_or_nan(target, workload, number))
    return Comparison(seconds)


async def _cpu_or_nan(target: Target, workload: Workload, round_number: int) -> float:
    try:
        return await cpu_of(target, workload, round_number)
    except (TimeoutError, ConnectionError) as exc:
        if target.name == PRODUCT:
            raise
        print(f"{target.name} did not finish {workload}: {exc}", file=sys.stderr)
        return nan


async def cpu_of(target: Target, workload: Workload, round_number: int) -> float:
    """Return the CPU seconds that a target's process takes for a workload, after a warm-up answer for each client.

    Raises:
        RuntimeError: other tokens came than the workload asks for.
    """
    clients = await open_clients(target, workload.streams)
    try:
        start = target.cpu()
        moments = workload.moments(round_number)
        await asyncio.gather(
            *(_ask(target, client, workload, moment) for client, moment in zip(clients, moments, strict=True))
        )
        spent = target.cpu() - start
        for client in clients:
            _check(target, client, workload)
    finally:  # an unfinished answer must not disturb the next target
        await close_all(clients)
    return spent


def _check(target: Target, client: LoadClient, workload: Workload) -> None:
    expected = workload.tokens * workload.answers
    came = len(TOKEN.findall(b"".join(payload for _, payload in client.received)))
    if came != expected:
        last = client.received[-1][1][:500]
        raise RuntimeError(f"{target.name}: {came} tokens came of {expected}: {last!r}")


async def open_clients(target: Target, count: int) -> list[LoadClient]:
    """Connect so many clients, a few at a time, and let each ask for one short answer."""
    clients: list[LoadClient] = []
    for first in range(0, count, OPENED_AT_ONCE):
        numbers = range(first, min(count, first + OPENED_AT_ONCE))
        group = await asyncio.gather(*(target.open(number) for number in numbers))
        await asyncio.gather(*(target.ask(client, WARM_UP) for client in group))
        clients.extend(group)
    for client in clients:
        client.received.clear()
    return clients


async def _ask(target: Target, client: LoadClient, workload: Workload, moment: float) -> None:
    await asyncio.sleep(moment)
    for _ in range(workload.answers):
        await target.ask(client, workload.prompt)

"""The benchmark: every contestant gets the same workload, and goals are held here or on the machine that set them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from math import isnan, nan
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report
from benchmarks.bench import Bench
from benchmarks.compare import Comparison, compare
from benchmarks.load_client import LoadClient
from benchmarks.profiled import part_of
from benchmarks.provider import Clock, Connection
from benchmarks.report import Family, Line, Section
from benchmarks.rows import core, paced_cpu, stream
from benchmarks.targets import CHAINLIT, NAIVE, PRODUCT, RELAY, Direct, direct
from benchmarks.workload import WARM_UP, Workload

SHORT = Workload(tokens=20, streams=3, answers=2)
PACED = Workload(tokens=10, streams=2, rate=200, opening_seconds=0.05)


@dataclass
class Contestant(Direct):
    """A contestant that passes prompts to the provider and keeps them."""

    prompts: list[str] = field(default_factory=list)

    def cpu(self) -> float:
        return time.process_time()

    def send(self, client: LoadClient, prompt: str) -> None:
        self.prompts.append(prompt)
        super().send(client, prompt)


class Shortening(Contestant):
    """A contestant that asks for shorter answers."""

    def send(self, client: LoadClient, prompt: str) -> None:
        super().send(client, prompt.replace("tokens=20", "tokens=10"))


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """The scripted provider."""
    clock = Clock()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(clock), "127.0.0.1", 0)
    ticking = asyncio.create_task(clock.run())
    yield server.sockets[0].getsockname()[1]
    ticking.cancel()
    server.close()


async def test_every_contestant_is_asked_for_the_same_answers(port: int) -> None:
    contestants = [Contestant(name, port, None) for name in (PRODUCT, NAIVE, CHAINLIT, RELAY)]
    seen = await compare(contestants, [SHORT, PACED], 2)
    expected = 2 * ([WARM_UP] * 3 + [SHORT.prompt] * 6 + [WARM_UP] * 2 + [PACED.prompt] * 2)
    assert [contestant.prompts for contestant in contestants] == [expected] * 4
    assert len(seen.seconds) == 8 and all(len(rounds) == 2 for rounds in seen.seconds.values())


async def test_an_answer_of_another_length_is_no_measurement(port: int) -> None:
    with pytest.raises(RuntimeError, match="naive consumer: 20 tokens came of 40"):
        await compare([Contestant(PRODUCT, port, None), Shortening(NAIVE, port, None)], [SHORT], 1)


def test_streams_begin_at_the_same_moments_for_every_contestant() -> None:
    assert PACED.moments(1) == PACED.moments(1) != PACED.moments(2)
    assert all(0 <= moment <= PACED.opening_seconds for moment in PACED.moments(3))


def test_a_ratio_is_the_median_of_rounds_that_both_finished() -> None:
    seen = Comparison({(PRODUCT, SHORT): [1.0, 2.0, 4.0, 1.0], (NAIVE, SHORT): [2.0, 8.0, 12.0, nan]})
    assert seen.ratio(NAIVE, SHORT) == 3.0
    assert seen.cpu(NAIVE, SHORT) == 8.0
    assert isnan(Comparison({(PRODUCT, SHORT): [1.0], (NAIVE, SHORT): [nan]}).ratio(NAIVE, SHORT))


def test_tokens_are_measured_without_the_turns() -> None:
    turn, whole = Workload(tokens=1, answers=2), Workload(tokens=101, answers=1)
    seen = Comparison({(name, load): [seconds] for name, load, seconds in (
        (PRODUCT, turn, 2.0), (PRODUCT, whole, 2.0), (NAIVE, turn, 4.0), (NAIVE, whole, 7.0),
    )})  # fmt: skip
    assert seen.per_thousand(PRODUCT, whole, turn) == pytest.approx(10.0)
    assert seen.ratio_without_turn(NAIVE, whole, turn) == pytest.approx(5.0)


def test_goals_against_others_are_ratios_of_one_run() -> None:
    turn, short, long = stream.TURN, stream.ONE_SHORT, stream.ONE_LONG
    loads, names = (turn, short, long, *stream.MANY, paced_cpu.PACED), (PRODUCT, NAIVE, CHAINLIT, RELAY)
    seen = Comparison({(name, load): [float(load.total_tokens)] for name in names for load in loads})
    tasks = {(name, task): [1.0] for name in core.NAMES for task in core.TASKS}
    sections = [
        core._section(tasks),
        stream._one(seen, turn, short, long),
        *(stream._many(seen, load) for load in stream.MANY),
        paced_cpu._section(seen, paced_cpu.PACED),
    ]
    goals = [line for section in sections for line in section.lines if line.goal is not None]
    assert len(goals) == 10
    assert all(line.unit.startswith("times") and line.value == 1.0 and not line.is_work for line in goals)


def test_a_contestant_that_did_not_finish_has_no_ratio() -> None:
    workload = stream.MANY[0]
    seen = Comparison({(name, workload): [1.0 if name != NAIVE else nan] for name in (PRODUCT, *stream.OTHERS)})
    rate, *ratios = stream._many(seen, workload).lines
    assert rate.beside.startswith("naive consumer not finished, Chainlit ")
    assert [line.what for line in ratios] == ["the same, against Chainlit", "the same, against the floor"]


def test_the_provider_is_a_contestant_by_its_address() -> None:
    assert direct("http://127.0.0.1:8123/v1").port == 8123


@pytest.mark.parametrize(
    ("value", "slowness", "verdict"),
    [(4.0, 1.0, "held"), (6.0, 1.0, "missed"), (9.0, 2.0, "held there"), (11.0, 2.0, "missed"), (4.0, 0.5, "missed")],
)
def test_times_are_compared_with_the_goal_at_the_speed_of_its_machine(
    value: float, slowness: float, verdict: str
) -> None:
    assert Line("a turn", value, "ms", 5, is_work=True, slowness=slowness).verdict == verdict


@pytest.mark.parametrize(
    ("value", "at_its_load", "verdict"),
    [(4.0, None, "held"), (6.0, None, "missed"), (6.0, 4.0, "held there"), (6.0, 6.0, "missed"), (4.0, 6.0, "held")],
)
def test_latencies_are_also_measured_with_less_load_on_a_slower_machine(
    value: float, at_its_load: float | None, verdict: str
) -> None:
    assert Line("a token", value, "ms", 5, at_its_load=at_its_load).verdict == verdict


@pytest.mark.parametrize(("rate", "verdict"), [(70.0, "held"), (50.0, "held there"), (25.0, "missed")])
def test_rates_are_lower_on_a_slower_machine(rate: float, verdict: str) -> None:
    assert Line("tokens", rate, "", 60, is_floor=True, is_work=True, slowness=2.0).verdict == verdict


@pytest.mark.parametrize(
    ("stack", "part"),
    [
        (
            "run (asyncio/runners.py:118);_begin (assistant/providers/answers.py:9)",
            "Reading its answer: `providers/`",
        ),
        ("ask (assistant/providers/openai_wire/http_clients.py:3)", "Asking it: openai, httpx2"),
        ("x (assistant/services/runs/opening/open_run.py:1)", "What a turn asks and stores: `services/`"),
        ("send (uvicorn/protocols/websockets/websockets_sansio_impl.py:506)", "The websocket: uvicorn, websockets"),
        ("y (json/decoder.py:1)", "The rest"),
    ],
)
def test_a_sample_is_counted_for_the_file_of_its_innermost_frame(stack: str, part: str) -> None:
    assert part_of(stack) == part


@pytest.mark.parametrize(
    ("family", "lengths", "kept"),
    [
        ("turn", {}, True),
        ("turn", {"quick": True}, False),
        ("turn", {"rounds": 1}, False),
        ("turn", {"mixed_minutes": 2.0, "page_seconds": 15}, True),
        ("mixed", {"mixed_minutes": 2.0}, False),
        ("page", {"page_seconds": 15}, False),
    ],
)
def test_a_measurement_shorter_than_its_goal_is_not_stored(family: str, lengths: dict[str, Any], kept: bool) -> None:
    assert Bench("http://127.0.0.1:1", **lengths).is_whole(family) is kept


def test_the_last_measurement_of_each_family_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "KEPT", tmp_path)
    for value in (7.0, 4.0):
        line = Line("a turn", value, "ms", 6, is_work=True, slowness=1.25)
        Family("turn", [Section("A turn", "One after the other.", [line])], 1.25, "then").keep()
    (family,) = report.kept(["core", "turn"])
    assert family.sections[0].lines == [Line("a turn", 4.0, "ms", 6, is_work=True, slowness=1.25)]
    text = report.document(["core", "turn"])
    assert "Of 1 goals 1 held" in text and "Not measured yet: core." in text
    assert "One after the other. (then)" in text and "1.25 to 1.25 times" in text

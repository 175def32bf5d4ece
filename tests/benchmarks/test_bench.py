"""What the benchmark calls held: here, or on the machine on which its goals were set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import report
from benchmarks.bench import Bench
from benchmarks.profiled import room_of
from benchmarks.report import Family, Line, Section


@pytest.mark.parametrize(
    ("value", "slowness", "verdict"),
    [(4.0, 1.0, "held"), (6.0, 1.0, "missed"), (9.0, 2.0, "held there"), (11.0, 2.0, "missed"), (4.0, 0.5, "missed")],
)
def test_times_are_held_against_a_goal_at_the_speed_of_its_machine(value: float, slowness: float, verdict: str) -> None:
    assert Line("a turn", value, "ms", 5, is_work=True, slowness=slowness).verdict == verdict


@pytest.mark.parametrize(
    ("value", "at_its_load", "verdict"),
    [(4.0, None, "held"), (6.0, None, "missed"), (6.0, 4.0, "held there"), (6.0, 6.0, "missed"), (4.0, 6.0, "held")],
)
def test_latencies_are_once_with_as_much_less_to_do(value: float, at_its_load: float | None, verdict: str) -> None:
    assert Line("a token", value, "ms", 5, at_its_load=at_its_load).verdict == verdict


@pytest.mark.parametrize(("rate", "verdict"), [(70.0, "held"), (50.0, "held there"), (25.0, "missed")])
def test_rates_are_lower_on_a_slower_machine(rate: float, verdict: str) -> None:
    assert Line("tokens", rate, "", 60, is_floor=True, is_work=True, slowness=2.0).verdict == verdict


@pytest.mark.parametrize(
    ("stack", "room"),
    [
        (
            "run (asyncio/runners.py:118);_begin (assistant/providers/openai_wire/response_body.py:9)",
            "Reading its answer: `providers/`",
        ),
        ("ask (assistant/providers/openai_wire/http_clients.py:3)", "Asking it: openai, httpx2"),
        ("x (assistant/services/runs/opening.py:1)", "What a turn asks and stores: `services/`"),
        ("send (uvicorn/protocols/websockets/websockets_sansio_impl.py:506)", "The websocket: uvicorn, websockets"),
        ("y (json/decoder.py:1)", "The rest"),
    ],
)
def test_a_look_is_counted_where_it_found_the_process(stack: str, room: str) -> None:
    assert room_of(stack) == room


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
def test_what_is_shorter_than_its_goal_is_not_kept(family: str, lengths: dict[str, Any], kept: bool) -> None:
    assert Bench("http://127.0.0.1:1", **lengths).is_whole(family) is kept


def test_the_last_measurement_of_each_family_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "KEPT", tmp_path)
    for value in (7.0, 4.0):
        line = Line("a turn", value, "ms", 6, is_work=True, slowness=1.25)
        Family("turn", [Section("A turn", "One after the other.", [line])], 1.25, "then").keep()
    (family,) = report.kept(["core", "turn"])
    assert family.sections[0].lines == [Line("a turn", 4.0, "ms", 6, is_work=True, slowness=1.25)]
    text = report.document(["core", "turn"])
    assert "Of 1 goals 1 held" in text and "Not measured yet: core." in text
    assert "One after the other. (then)" in text and "1.25 to 1.25 times" in text

"""Every run that the suite recorded, faults included, is one that real clients take: @ag-ui/client's verifyEvents.

CI records all its suites (RECORD_RUNS); run alone, these tests verify what the other tests of this folder recorded.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ag_ui_validate.pytest_plugin import assert_valid_agui

from assistant.services.eventlog.frames import for_earlier_clients
from tests.agui import Frame, with_history
from tests.recording.runs import recorded_runs, told_calls

HERE = Path(__file__).parent
VERSIONS = ["1.0.0", "0.0.59"]


@pytest.fixture(scope="module")
def runs() -> list[list[Frame]]:
    found = recorded_runs(Path(os.environ["RECORD_RUNS"]))
    kinds = {frame["type"] for run in found for frame in run}
    assert {"RUN_FINISHED", "RUN_ERROR", "TOOL_CALL_RESULT"} <= kinds, "record a run of the suite"
    return found


def refused_by(version: str, runs: Sequence[Sequence[Frame]], folder: Path) -> list[tuple[int, str]]:
    """Which runs the client of that version refuses, and why."""
    texts = [[json.dumps(frame, separators=(",", ":")) for frame in run] for run in runs]
    if version == "0.0.59":
        texts = [[for_earlier_clients(frame) for frame in run] for run in texts]
    path = folder / "runs.jsonl"
    path.write_text("".join(f"[{','.join(run)}]\n" for run in texts))
    done = subprocess.run(
        ["node", "verify.mjs", version, str(path)], cwd=HERE, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert told["runs"] == len(runs)
    return [(number, why) for number, why in told["refused"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_client_takes_every_recorded_run(version: str, runs: list[list[Frame]], tmp_path: Path) -> None:
    refused = refused_by(version, runs, tmp_path)
    assert [(why, [frame["type"] for frame in runs[number]]) for number, why in refused] == []


def test_the_validator_has_no_warning_of_any(runs: list[list[Frame]]) -> None:
    told = told_calls(Path(os.environ["RECORD_RUNS"]))
    warned = []
    for run in runs:
        # A run that goes on after an approval tells the result of a call that an earlier run of its thread told of.
        resumed = set(calls(run, "TOOL_CALL_RESULT")) - set(calls(run, "TOOL_CALL_START"))
        known = {call for call in resumed if (thread_of(run), call) in told}
        try:
            assert_valid_agui(with_history(run, known), max_warnings=0)
        except AssertionError as exc:
            warned.append(f"{[frame['type'] for frame in run]}: {exc}")
    assert warned == []


def thread_of(run: list[Frame]) -> str:
    return str(run[0]["metadata"]["run"]["thread"])


def calls(run: list[Frame], kind: str) -> list[str]:
    return [frame["toolCallId"] for frame in run if frame["type"] == kind]


def _without(kind: str) -> Callable[[list[Frame]], list[Frame]]:
    return lambda run: [frame for frame in run if frame["type"] != kind]


def _twice(run: list[Frame]) -> list[Frame]:
    return [*run, run[-1]]


PLANTED = {
    "no start": _without("RUN_STARTED"),
    "an answer that nothing opened": _without("TEXT_MESSAGE_START"),
    "an answer left open": _without("TEXT_MESSAGE_END"),
    "an end after the end": _twice,
    "a type of its own": lambda run: [*run[:1], run[1] | {"type": "INVENTED"}, *run[2:]],
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str, version: str, runs: list[list[Frame]], tmp_path: Path) -> None:
    answered = {"TEXT_MESSAGE_END", "RUN_FINISHED"}
    run = next(run for run in runs if answered <= {frame["type"] for frame in run})
    assert refused_by(version, [run, PLANTED[fault](copy.deepcopy(run)), run], tmp_path)[0][0] == 1

"""Reads the recordings: whole runs, each once, as all their readers saw them, and the calls that any event told of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tests.agui import ENDINGS, Frame, seq_of


def recorded_runs(folder: Path) -> list[list[Frame]]:
    """Every run that was seen from its start to its end."""
    found: dict[str, list[Frame]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        open_runs: dict[str, list[Frame]] = {}
        for name, frame in _events(path):
            run = open_runs.setdefault(name, [])
            if seq_of(frame) == 1:
                run.clear()
            run.append(frame)
            if frame["type"] in ENDINGS and seq_of(run[0]) == 1:
                # The same run, seen by another process too, is the same text.
                found[json.dumps(run)] = open_runs.pop(name)
    return list(found.values())


def told_calls(folder: Path) -> set[tuple[str, str]]:
    """The thread and id of every tool call that an event told of, also one of a run whose rest no process saw.

    A process that is ended in a run has seen its beginning, and one that takes it over its end.
    """
    told = set()
    for path in folder.glob("*.jsonl"):
        for _, frame in _events(path):
            thread = str(frame["metadata"]["run"]["thread"])
            if frame["type"] == "TOOL_CALL_START":
                told.add((thread, str(frame["toolCallId"])))
            for message in frame["messages"] if frame["type"] == "MESSAGES_SNAPSHOT" else ():
                told |= {(thread, str(call["id"])) for call in message.get("toolCalls", ())}
    return told


def _events(path: Path) -> Iterator[tuple[str, Frame]]:
    """The events of a process, each with the name of its run there."""
    for line in path.read_bytes().splitlines():  # of bytes: texts hold what ends a line of text, too
        name, _, text = line.partition(b" ")
        frame: Frame = json.loads(text)
        if "metadata" in frame:  # else a test's own stand-in for an event
            yield name.decode(), frame

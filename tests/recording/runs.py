"""Reads the recordings: whole runs, each once, as all their readers saw them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agui import ENDINGS, Frame, seq_of


def recorded_runs(folder: Path) -> list[list[Frame]]:
    """Every run that was seen from its start to its end."""
    found: dict[str, list[Frame]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        open_runs: dict[str, list[Frame]] = {}
        for line in path.read_bytes().splitlines():  # of bytes: texts hold what ends a line of text, too
            name, _, text = line.partition(b" ")
            frame: Frame = json.loads(text)
            if "metadata" not in frame:
                continue  # a test's own stand-in for an event
            run = open_runs.setdefault(name.decode(), [])
            if seq_of(frame) == 1:
                run.clear()
            run.append(frame)
            if frame["type"] in ENDINGS and seq_of(run[0]) == 1:
                # The same run, seen by another process too, is the same text.
                found[json.dumps(run)] = open_runs.pop(name.decode())
    return list(found.values())

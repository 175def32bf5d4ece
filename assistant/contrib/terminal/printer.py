"""Prints the events of runs in a terminal."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.management.base import OutputWrapper
from django.template.defaultfilters import filesizeformat

from assistant.core.toolcalls.batch import PENDING
from assistant.core.values import events

MAX_RESULT_CHARACTERS = 400
SECONDS_BETWEEN_PROGRESS = 1.0
# A terminal obeys control characters: with them a document's author could change what is shown, or the clipboard.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """Return text as a terminal may show it."""
    return _CONTROLS.sub("\ufffd", text.replace("\r", ""))


class EventPrinter:
    """Prints answers as they arrive, and a line for each step of a tool.

    It shows nothing of sub-agents: their answers are results of tools.

    Args:
        output: the terminal, or a file.
    """

    def __init__(self, output: OutputWrapper) -> None:
        self._output = output
        self._is_mid_line = False
        self._last_progress = -SECONDS_BETWEEN_PROGRESS

    def show(self, event: events.Event) -> None:
        """Print one event, if it is one that people read."""
        if getattr(event, "subagent_run_id", None) is not None:
            return
        if isinstance(event, events.TextMessageContent):
            self._write(event.delta)
        elif isinstance(event, events.Custom):
            for line in self._lines_of(event.name, event.value):
                self.say(line)
        else:
            for line in _lines(event):
                self.say(line)

    def say(self, line: str) -> None:
        """Print a line of its own."""
        self.end_line()
        self._write(f"{line}\n")

    def end_line(self) -> None:
        """End the line that an answer has begun."""
        if self._is_mid_line:
            self._write("\n")

    def _write(self, text: str) -> None:
        if text := printable(text):
            self._output.write(text, ending="")
            self._output.flush()
            self._is_mid_line = not text.endswith("\n")

    def _lines_of(self, name: str, value: Any) -> Iterator[str]:
        match name:
            case "tool.progress" if (now := time.monotonic()) - self._last_progress >= SECONDS_BETWEEN_PROGRESS:
                self._last_progress = now
                of = f" of {value['total']:g}" if "total" in value else ""
                yield f"  {value['done']:g}{of} {value.get('message', '')}".rstrip()
            case "tool.finished":
                yield from map(_file_line, value.get("media", ()))
            case "run.queued":
                yield f"[waiting; {value['ahead']} before this one]"
            case "message.cut":
                yield f"[cut: {value['reason']}]"


def _lines(event: events.Event) -> Iterator[str]:
    match event:
        case events.ToolCallStart(tool_call_name=name):
            yield f"[{name}]"
        case events.ToolCallResult(content=content):
            yield f"  = {content[:MAX_RESULT_CHARACTERS]}{' …' if len(content) > MAX_RESULT_CHARACTERS else ''}"
        case events.RunError(message=message):
            yield message
        case events.RunFinished(outcome=events.Cancelled()):
            yield "[stopped]"
        case events.RunFinished(outcome=events.Interrupted(interrupts=interrupts)):
            yield from (one.message or "" for one in interrupts if one.reason == PENDING)


def _file_line(file: Mapping[str, Any]) -> str:
    address = settings.ASSISTANT_PUBLIC_URL.rstrip("/") + file["url"] if "url" in file else ""
    return f"  file: {file['name']} ({file['mediaType']}, {filesizeformat(file['size'])}) {address}".rstrip()

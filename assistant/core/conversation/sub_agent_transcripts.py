"""Transcripts of the sub-agents of a run, each with the tool call that started it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from assistant.core.values import events
from assistant.core.values.events import Event
from assistant.core.values.messages import Message
from assistant.toolkit.calls.call import cut

if TYPE_CHECKING:
    from assistant.core.conversation.transcript import Transcript

# Messages are shortened to this if the whole transcripts exceed `MAX_STORED_BYTES`.
MAX_MESSAGE_TOKENS = 500
# Of the transcripts of all sub-agents that one call started, as JSON.
MAX_STORED_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class SubAgentRun:
    """One run of a sub-agent.

    Attributes:
        call_id: the tool call that started it.
        parent_id: the sub-agent run that made this call; empty for the run's own assistant.
        error: why it failed.
    """

    id: str
    name: str
    call_id: str = ""
    parent_id: str = ""
    status: Literal["running", "ok", "error"] = "running"
    error: str = ""
    messages: tuple[Message, ...] = ()


class SubAgentTranscripts:
    """Builds the transcripts of all sub-agents of one run.

    Args:
        new_transcript: makes an empty transcript.
    """

    def __init__(self, new_transcript: Callable[[], Transcript]) -> None:
        self._new_transcript = new_transcript
        self._runs: dict[str, SubAgentRun] = {}
        self._transcripts: dict[str, Transcript] = {}

    def apply(self, event: Event, run_id: str) -> None:
        """Apply one event of a sub-agent; ignored if its `SubagentStarted` was not seen."""
        if isinstance(event, events.SubagentStarted):
            self._runs[run_id] = SubAgentRun(
                run_id, event.name, event.parent_tool_call_id or "", event.parent_subagent_run_id or ""
            )
            self._transcripts[run_id] = self._new_transcript()
        elif run_id in self._transcripts:
            self._apply(event, run_id)

    def _apply(self, event: Event, run_id: str) -> None:
        transcript = self._transcripts[run_id]
        match event:
            case events.SubagentFinished():
                self._runs[run_id] = replace(self._runs[run_id], status="ok")
            case events.SubagentError(message=message):
                self._runs[run_id] = replace(self._runs[run_id], status="error", error=message)
                transcript.close("error")
            case _:
                transcript.apply(msgspec.structs.replace(event, subagent_run_id=None))

    def cut(self) -> None:
        """Mark open messages as cut off."""
        for transcript in self._transcripts.values():
            transcript.cut()

    def transcript_of(self, run_id: str) -> Transcript | None:
        """Return the transcript of one sub-agent; None if its start was not seen."""
        return self._transcripts.get(run_id)

    def all(self) -> list[SubAgentRun]:
        """Return all sub-agent runs in the order of their start, with their messages so far."""
        return [replace(one, messages=self._transcripts[one.id].messages) for one in self._runs.values()]

    def by_call(self) -> dict[str, list[SubAgentRun]]:
        """Return the sub-agent runs that each of the run's own calls started, by call id, nested ones included."""
        found: dict[str, list[SubAgentRun]] = {}
        call_of: dict[str, str] = {}
        for one in self.all():
            call_id = call_of[one.id] = call_of.get(one.parent_id, one.call_id)
            found.setdefault(call_id, []).append(one)
        return found

    def stop(self, reason: str) -> None:
        """Mark sub-agents that are still running as failed.

        Args:
            reason: stored as their `error`.
        """
        for run_id, one in self._runs.items():
            if one.status == "running":
                self._transcripts[run_id].close("cancelled")
                self._runs[run_id] = replace(one, status="error", error=reason)

    def to_state(self) -> list[dict[str, Any]]:
        """Return the whole state as JSON values, for a checkpoint."""
        return [
            {**msgspec.to_builtins(one), "transcript": self._transcripts[one.id].to_state()}
            for one in self._runs.values()
        ]

    def restore(self, state: Iterable[Mapping[str, Any]], from_state: Callable[[Any], Transcript]) -> None:
        """Restore what `to_state` returned."""
        for one in state:
            run = msgspec.convert({key: value for key, value in one.items() if key != "transcript"}, SubAgentRun)
            self._runs[run.id] = run
            self._transcripts[run.id] = from_state(one["transcript"])


def to_stored(runs: Iterable[SubAgentRun]) -> list[dict[str, Any]] | None:
    """Return what is stored of sub-agent runs, as JSON values.

    Messages are shortened if they exceed `MAX_STORED_BYTES` together. None for no runs, or if that is not enough.
    """
    all_runs = list(runs)
    stored: list[dict[str, Any]] = msgspec.to_builtins(all_runs)
    if not stored or len(msgspec.json.encode(stored)) <= MAX_STORED_BYTES:
        return stored or None
    stored = msgspec.to_builtins([replace(one, messages=tuple(map(_shortened, one.messages))) for one in all_runs])
    return stored if len(msgspec.json.encode(stored)) <= MAX_STORED_BYTES else None


def from_stored(stored: Iterable[Mapping[str, Any]]) -> list[SubAgentRun]:
    """Return the runs that `to_stored` returned."""
    return msgspec.convert(list(stored), list[SubAgentRun])


def _shortened(message: Message) -> Message:
    return replace(message, content=cut(message.content, MAX_MESSAGE_TOKENS), reasoning="")

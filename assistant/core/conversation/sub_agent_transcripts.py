"""What the assistants said that were asked within a run: each a transcript of its own, by the call that asked it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from assistant.core.values import events
from assistant.core.values.events import Event
from assistant.core.values.messages import Message
from assistant.toolkit.calls.results import cut

if TYPE_CHECKING:
    from assistant.core.conversation.transcript import Transcript

# Of one message, in tokens, where the whole would be too much to keep.
MAX_MESSAGE_TOKENS = 500
# What is kept of the assistants that one call asked, as JSON.
MAX_STORED_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class Asked:
    """One assistant that was asked, and how far it has got.

    `call_id` is the call that asked it, `parent_id` the one in whose work that was (empty: the run's own assistant);
    `error` says why it failed.
    """

    id: str
    name: str
    call_id: str = ""
    parent_id: str = ""
    status: Literal["running", "ok", "error"] = "running"
    error: str = ""
    messages: tuple[Message, ...] = ()


class SubAgentTranscripts:
    """Follows those that are asked within one run.

    Args:
        new_transcript: makes an empty transcript.
    """

    def __init__(self, new_transcript: Callable[[], Transcript]) -> None:
        self._new_transcript = new_transcript
        self._asked: dict[str, Asked] = {}
        self._transcripts: dict[str, Transcript] = {}

    def apply(self, event: Event, asked_id: str) -> None:
        """Take in one event of an asked assistant; those of one whose beginning was not seen are left out."""
        if isinstance(event, events.SubagentStarted):
            self._asked[asked_id] = Asked(
                asked_id, event.name, event.parent_tool_call_id or "", event.parent_subagent_run_id or ""
            )
            self._transcripts[asked_id] = self._new_transcript()
        elif asked_id in self._transcripts:
            self._go_on(event, asked_id)

    def _go_on(self, event: Event, asked_id: str) -> None:
        transcript = self._transcripts[asked_id]
        match event:
            case events.SubagentFinished():
                self._asked[asked_id] = replace(self._asked[asked_id], status="ok")
            case events.SubagentError(message=message):
                self._asked[asked_id] = replace(self._asked[asked_id], status="error", error=message)
                transcript.close("error")
            case _:
                transcript.apply(msgspec.structs.replace(event, subagent_run_id=None))

    def cut(self) -> None:
        """Mark what is being said as cut off."""
        for transcript in self._transcripts.values():
            transcript.cut()

    def transcript_of(self, asked_id: str) -> Transcript | None:
        """What one of them has said so far; None if its beginning was not seen."""
        return self._transcripts.get(asked_id)

    def all(self) -> list[Asked]:
        """All that were asked, in their order, with what they have said so far."""
        return [replace(one, messages=self._transcripts[one.id].messages) for one in self._asked.values()]

    def by_call(self) -> dict[str, list[Asked]]:
        """Those that each of the run's own calls asked, and those that these asked in turn."""
        found: dict[str, list[Asked]] = {}
        call_of: dict[str, str] = {}
        for one in self.all():
            call_id = call_of[one.id] = call_of.get(one.parent_id, one.call_id)
            found.setdefault(call_id, []).append(one)
        return found

    def stop(self, reason: str) -> None:
        """End those that still run: nothing more will come of them."""
        for asked_id, one in self._asked.items():
            if one.status == "running":
                self._transcripts[asked_id].close("cancelled")
                self._asked[asked_id] = replace(one, status="error", error=reason)

    def to_state(self) -> list[dict[str, Any]]:
        """Everything as JSON values, for a checkpoint."""
        return [
            {**msgspec.to_builtins(one), "transcript": self._transcripts[one.id].to_state()}
            for one in self._asked.values()
        ]

    def restore(self, state: Iterable[Mapping[str, Any]], from_state: Callable[[Any], Transcript]) -> None:
        """Go on from what `to_state` gave."""
        for one in state:
            asked = msgspec.convert({key: value for key, value in one.items() if key != "transcript"}, Asked)
            self._asked[asked.id] = asked
            self._transcripts[asked.id] = from_state(one["transcript"])


def to_stored(asked: Iterable[Asked]) -> list[dict[str, Any]] | None:
    """What is kept of them, as JSON values; None if there is nothing, or it is too much even in part."""
    whole = list(asked)
    kept: list[dict[str, Any]] = msgspec.to_builtins(whole)
    if not kept or len(msgspec.json.encode(kept)) <= MAX_STORED_BYTES:
        return kept or None
    kept = msgspec.to_builtins([replace(one, messages=tuple(map(_shortened, one.messages))) for one in whole])
    return kept if len(msgspec.json.encode(kept)) <= MAX_STORED_BYTES else None


def from_stored(kept: Iterable[Mapping[str, Any]]) -> list[Asked]:
    """What `to_stored` gave."""
    return msgspec.convert(list(kept), list[Asked])


def _shortened(message: Message) -> Message:
    return replace(message, content=cut(message.content, MAX_MESSAGE_TOKENS), reasoning="")

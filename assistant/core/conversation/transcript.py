"""Builds messages from a run's events, for the loop, for checkpoints and for snapshots of a thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from assistant.core.conversation.sub_agent_transcripts import SubAgentTranscripts
from assistant.core.conversation.turn_endings import NO_RESULT, START_OF, SUPERSEDED, CloseReason, Start, end_of
from assistant.core.values import events
from assistant.core.values.citations import Citation
from assistant.core.values.events import Event, TokenUsage
from assistant.core.values.json_completion import completion_of
from assistant.core.values.messages import REASONING_SUFFIX, Message, ToolCall, Usage, result_id, without_part
from assistant.core.values.timeline import Timeline
from assistant.core.values.untrusted import NOTHING_READ, ReadText, bounded_sources
from assistant.toolkit import Media


class Transcript:
    """The messages that a run has produced so far, updated with every event.

    Args:
        messages: what the run had already produced, if it continues.

    Attributes:
        output: the answer as a value, if a type was requested.
        result: the same as JSON values.
        images: images of tool results, by call id.
        sub_agents: transcripts of the sub-agents, whose messages are not part of `messages`; None if there is none.
        read: the untrusted text that the model has read; messages that it writes have its sources.
        timeline: when the model was asked and tools ran; not part of checkpoints.
        failure: the exception that ended the turn: the model's, a tool's or a guardrail's.
        extension_states: the state of each extension that has one, by its name; JSON values until the turn begins.
        guardrail: the name of the guardrail that ended the turn.
        tool_error_id: the error id of the tool whose failure ended the turn.
        citations: what providers say that its answers were taken from.
        sources: where untrusted text in results comes from, as declared so far, by call id.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.usage: dict[tuple[str, str], Usage] = {}
        self.finish_reason = ""
        self.output: Any = None
        self.result: Any = None
        self.images: dict[str, tuple[Media, ...]] = {}
        self.ending: events.RunFinished | events.RunError | None = None
        self.sub_agents: SubAgentTranscripts | None = None
        self.read = NOTHING_READ
        self.timeline = Timeline()
        self.failure: BaseException | None = None
        self.extension_states: dict[str, Any] = {}
        self.guardrail = self.tool_error_id = ""
        self.citations: tuple[Citation, ...] = ()
        self._entries: list[Draft | Message] = []
        self._drafts: dict[str, Draft] = {}
        self._calls: dict[str, CallDraft] = {}
        self._open: dict[tuple[str, str], Start] = {}
        self._awaited: dict[str, None] = {}
        self._recorded_results: dict[str, str] = {}
        self.sources: dict[str, tuple[str, ...]] = {}
        for message in messages:
            self._add(message)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages so far; one that is still open, or was cut off, has `is_partial` set."""
        return tuple([entry.message() if isinstance(entry, Draft) else entry for entry in self._entries])

    def with_images(self) -> list[Message]:
        """Return the messages with the images of this run's tool results, which `messages` does not contain."""
        return [
            replace(message, media=self.images[message.tool_call_id])
            if message.tool_call_id in self.images
            else message
            for message in self.messages
        ]

    def apply(self, event: Event) -> None:
        """Apply one event; a delta costs one list append."""
        kind = type(event)
        if kind is events.TextMessageContent and event.subagent_run_id is None:  # type: ignore[attr-defined]
            self._drafts[event.message_id].text.append(event.delta)  # type: ignore[attr-defined]
            return
        if kind is events.ToolCallArgs and event.subagent_run_id is None:  # type: ignore[attr-defined]
            self._calls[event.tool_call_id].arguments.append(event.delta)  # type: ignore[attr-defined]
            return
        self._apply_other(event)

    def _apply_other(self, event: Event) -> None:  # noqa: PLR0912 - one case an event
        sub_agent_run_id = getattr(event, "subagent_run_id", None)
        if sub_agent_run_id is not None:
            if self.sub_agents is None:
                self.sub_agents = SubAgentTranscripts(Transcript)
            self.sub_agents.apply(event, sub_agent_run_id)
        is_own = sub_agent_run_id is None
        match event:
            case events.ReasoningMessageContent() if is_own:
                self._draft(event.message_id).reasoning.append(event.delta)
            case events.TextMessageStart() | events.ReasoningStart() | events.ReasoningMessageStart():
                self._open[event.type, event.message_id] = event
                if is_own:
                    self._draft(event.message_id).open += 1
            case events.TextMessageEnd() | events.ReasoningEnd() | events.ReasoningMessageEnd():
                if self._open.pop((START_OF[type(event)], event.message_id), None) is not None and is_own:
                    self._draft(event.message_id).open -= 1
            case events.ToolCallStart():
                self._open[event.type, event.tool_call_id] = event
                if is_own:
                    draft = self._draft(event.parent_message_id or event.tool_call_id)
                    draft.open += 1
                    if event.tool_call_id not in self._calls:
                        call = CallDraft(draft, event.tool_call_id, event.tool_call_name)
                        self._calls[call.id] = call
                        draft.calls.append(call)
                    self._awaited[event.tool_call_id] = None
            case events.ToolCallEnd():
                if self._open.pop((START_OF[type(event)], event.tool_call_id), None) is not None and is_own:
                    self._calls[event.tool_call_id].draft.open -= 1
            case events.ToolCallResult() if is_own:
                self._awaited.pop(event.tool_call_id, None)
                call_id = event.tool_call_id
                sources = self.sources.get(call_id, ())
                self._entries.append(
                    Message("tool", event.content, id=event.message_id, tool_call_id=call_id, sources=sources)
                )
                if sources:  # until the next request says what the model is sent
                    self.read = ReadText(bounded_sources((*self.read.sources, *sources)), self.read.messages)
            case events.SubagentStarted():
                self._open[event.type, event.subagent_run_id] = event
            case events.SubagentFinished() | events.SubagentError():
                self._open.pop((START_OF[type(event)], event.subagent_run_id), None)
            case events.RunFinished() | events.RunError():
                self.ending = event
            case events.Custom("message.cut", {"messageId": cut, "reason": reason}) if is_own and reason == SUPERSEDED:
                self._supersede(self._draft(cut))
            case events.Custom("message.cut", {"messageId": cut, "reason": reason}) if is_own:
                self._draft(cut).cut(reason)

    def _supersede(self, draft: Draft) -> None:
        draft.is_cut = draft.is_superseded = True
        calls = {call.id for call in draft.calls}
        for place, entry in enumerate(self._entries):
            if isinstance(entry, Message) and entry.tool_call_id in calls:
                self._entries[place] = replace(entry, is_superseded=True)

    def keep_state(self, message_id: str, provider_state: str) -> None:
        """Keep what the provider gave with a message; it is in no event, because nobody else reads it."""
        if provider_state and (draft := self._drafts.get(message_id)) is not None:
            draft.provider_state = provider_state
            draft.complete = None

    def _draft(self, message_id: str) -> Draft:
        """Return the draft of a message, or of a part of one, to change it."""
        whole = without_part(message_id).removesuffix(REASONING_SUFFIX)
        if whole not in self._drafts:
            self._drafts[whole] = Draft(whole, self.read.sources)
            self._entries.append(self._drafts[whole])
        draft = self._drafts[message_id] = self._drafts[whole]
        draft.complete = None
        return draft

    def _add(self, message: Message) -> None:
        """Add a message of an earlier part of the run; if it is partial, further events can continue it."""
        if message.role != "assistant":
            self._awaited.pop(message.tool_call_id, None)
            self._entries.append(message)
            return
        draft = self._draft(message.id)
        draft.restore(message)
        for call in draft.calls:
            self._calls[call.id] = call
            self._awaited[call.id] = None

    def expect_results(self, calls: Iterable[ToolCall]) -> None:
        """Declare that this run handles calls of an earlier one, so that `close` gives these results too."""
        self._awaited.update(dict.fromkeys(call.id for call in calls))

    def record_result(self, call_id: str, content: str, sources: tuple[str, ...] = ()) -> None:
        """Record a result whose event has not been sent yet; `close` sends it if no event does.

        Args:
            sources: where untrusted text in it came from.
        """
        self._recorded_results[call_id] = content
        if sources:
            self.mark_result(call_id, sources)

    def mark_result(self, call_id: str, sources: tuple[str, ...]) -> None:
        """Declare where untrusted text in the result of a call comes from, before its event is applied."""
        if sources:
            self.sources[call_id] = bounded_sources((*self.sources.get(call_id, ()), *sources))

    def add_usage(self, provider: str, model: str, usage: Usage) -> None:
        """Count the tokens of one model call."""
        key = (provider, model)
        self.usage[key] = self.usage.get(key, Usage()) + usage

    def token_usage(self) -> list[TokenUsage]:
        """Return the usage in AG-UI's form: one entry per model."""
        return [
            TokenUsage(
                provider=provider or None,
                model=model or None,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                total_tokens=usage.total_tokens,
                reasoning_tokens=usage.reasoning_tokens or None,
                cached_input_tokens=usage.cached_input_tokens or None,
                cache_write_input_tokens=usage.cache_write_tokens or None,
            )
            for (provider, model), usage in self.usage.items()
        ]

    def open_events(self) -> list[Event]:
        """Return the start events of everything that is open, for a client that attaches now."""
        return list(self._open.values())

    def close(self, reason: CloseReason) -> list[Event]:
        """End everything that is open and give every call a result. Returns the events, which are already applied."""
        ended = self.end_parts(reason)
        for call_id in self._awaited:
            self._recorded_results.setdefault(call_id, NO_RESULT[reason])
        return [*ended, *self.send_recorded_results()]

    def send_recorded_results(self) -> list[Event]:
        """Return the events of results that were recorded and not sent yet; they are already applied."""
        known = self._recorded_results
        sent: list[Event] = [
            events.ToolCallResult(result_id(one), one, known[one], role="tool") for one in self._awaited if one in known
        ]
        for event in sent:
            self.apply(event)
        return sent

    def end_parts(self, reason: CloseReason) -> list[Event]:
        """End the messages, calls and sub-agents that are open. Returns the events, which are already applied."""
        self.cut()
        closing: list[Event] = []
        for start in reversed(self._open.values()):
            if isinstance(start, events.ToolCallStart) and (rest := completion_of(self._arguments_of(start))):
                closing.append(events.ToolCallArgs(start.tool_call_id, rest, start.subagent_run_id))
            closing.append(end_of(start, NO_RESULT[reason], reason))
        for event in closing:
            self.apply(event)
        return closing

    def _arguments_of(self, start: events.ToolCallStart) -> str:
        """Return the arguments of a call that have been sent so far."""
        transcript: Transcript | None = self
        if start.subagent_run_id is not None:
            transcript = None if self.sub_agents is None else self.sub_agents.transcript_of(start.subagent_run_id)
        draft = transcript._calls.get(start.tool_call_id) if transcript is not None else None
        return "" if draft is None else draft.tool_call().arguments

    def cut(self) -> None:
        """Mark open messages as cut off."""
        for draft in self._drafts.values():
            draft.is_cut = draft.is_cut or draft.open > 0
        if self.sub_agents is not None:
            self.sub_agents.cut()

    def to_state(self) -> dict[str, Any]:
        """Return the whole state as JSON values, for a checkpoint."""
        return {
            "messages": msgspec.to_builtins(self.messages),
            "cut": [draft.id for draft in self._drafts.values() if draft.is_cut],
            "open": msgspec.to_builtins(list(self._open.values())),
            "awaited": list(self._awaited),
            "known": dict(self._recorded_results),
            "sources": msgspec.to_builtins(self.sources),
            "read": list(self.read.sources),
            "asked": [] if self.sub_agents is None else self.sub_agents.to_state(),
            "usage": [[provider, model, msgspec.to_builtins(spent)] for (provider, model), spent in self.usage.items()],
            "extensions": msgspec.to_builtins(self.extension_states),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Transcript:
        """Restore a transcript from what `to_state` returned."""
        transcript = cls(msgspec.convert(state["messages"], list[Message]))
        for draft in transcript._drafts.values():
            draft.is_cut = draft.id in state["cut"]
        for start in msgspec.convert(state["open"], list[Start]):
            transcript.apply(start)
        transcript.sub_agents = None
        if asked := state.get("asked"):
            transcript.sub_agents = SubAgentTranscripts(Transcript)
            transcript.sub_agents.restore(asked, cls.from_state)
        transcript._awaited = dict.fromkeys(state["awaited"])
        transcript._recorded_results = dict(state["known"])
        transcript.sources = {call_id: tuple(names) for call_id, names in state.get("sources", {}).items()}
        transcript.read = ReadText(tuple(state.get("read", ())))
        transcript.usage = {
            (provider, model): msgspec.convert(usage, Usage) for provider, model, usage in state["usage"]
        }
        transcript.extension_states = dict(state.get("extensions", {}))
        return transcript


@dataclass(slots=True, eq=False)
class Draft:
    """An assistant's message that is being streamed.

    Attributes:
        open: how many of its parts (text, reasoning, calls) have started and not ended.
        complete: the message, once nothing of it is open; None again when it changes.
    """

    id: str
    sources: tuple[str, ...] = ()
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[CallDraft] = field(default_factory=list)
    open: int = 0
    is_cut: bool = False
    is_superseded: bool = False
    cut_reason: str = ""
    provider_state: str = ""
    complete: Message | None = None

    def cut(self, reason: str) -> None:
        """Mark the message as cut off, for a reason of the `message.cut` event."""
        self.is_cut = True
        self.cut_reason = reason

    def message(self) -> Message:
        """Return the message so far. Once it is complete, each call returns the same object."""
        is_partial = self.is_cut or self.open > 0
        if self.complete is not None and not is_partial:
            return self.complete
        message = Message(
            "assistant",
            "".join(self.text),
            id=self.id,
            tool_calls=tuple([call.tool_call() for call in self.calls]),
            reasoning="".join(self.reasoning),
            is_partial=is_partial,
            sources=self.sources,
            provider_state=self.provider_state,
            is_superseded=self.is_superseded,
            cut_reason=self.cut_reason,
        )
        self.complete = None if is_partial else message
        return message

    def restore(self, message: Message) -> None:
        """Continue from a message that `message` returned."""
        self.complete = None
        self.text = [message.content]
        self.reasoning = [message.reasoning]
        self.calls = [CallDraft(self, call.id, call.name, [call.arguments]) for call in message.tool_calls]
        self.is_cut = message.is_partial
        self.is_superseded = message.is_superseded
        self.cut_reason = message.cut_reason
        self.sources = message.sources
        self.provider_state = message.provider_state


@dataclass(slots=True, eq=False, repr=False)
class CallDraft:
    """A tool call whose arguments are being streamed."""

    draft: Draft
    id: str
    name: str
    arguments: list[str] = field(default_factory=list)

    def tool_call(self) -> ToolCall:
        return ToolCall(self.id, self.name, "".join(self.arguments))

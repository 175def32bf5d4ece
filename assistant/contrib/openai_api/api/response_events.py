"""Turns a run's events into those of OpenAI's Responses API.

They are numbered as they come. The same run gives the same events with the same numbers whenever its log is read from
the beginning, so that a client can go on after any of them.

The format: https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assistant.contrib.openai_api.api.shapes import CompletionFailed, failure_of
from assistant.contrib.openai_api.error_bodies import CODES
from assistant.contrib.openai_api.services.responses.output_items import ItemWriter, annotation_part, ids_of, text_part
from assistant.contrib.openai_api.services.responses.stored import body_of, find_response, response_body, usage_of
from assistant.core.values import events
from assistant.core.values.events import Event
from assistant.core.values.messages import REASONING_SUFFIX, ToolCall
from assistant.services.conversations.added_details import annotations_in, detail_of_event
from assistant.services.db.threads import in_database
from assistant.services.eventlog.frames import as_mapping, decode_event
from assistant.services.eventlog.log import Entry
from assistant.services.run_key import RunKey
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.tenancy.members import Member

Part = dict[str, Any]
# Events before the answer begins.
PRELUDE = frozenset({"response.created", "response.queued", "response.in_progress"})
REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(slots=True)
class _Open:
    """An item that has begun: its position in the output, and its text so far."""

    index: int
    text: str = ""


class ResponseEvents:
    """Collects a response from its run's events, and yields them as the Responses API has them.

    Args:
        echo: what the caller asked for, as the response gives it back.
        ended_at: when the run ended, if it had before its events are read.
    """

    def __init__(self, response: str, echo: Mapping[str, Any], writer: ItemWriter, ended_at: int | None = None) -> None:
        self.id = response
        self.is_complete = False
        self.was_refused = False
        self.body: dict[str, Any] = {}
        self._echo = echo
        self._writer = writer
        self._ended_at = ended_at
        self._created_at = int(time.time())
        self._number = 0
        self._is_begun = self._is_queued = self._is_in_progress = False
        self._output: list[Part] = []
        self._texts: dict[str, _Open] = {}
        self._calls: dict[str, ToolCall] = {}
        self._shown: dict[str, int] = {}
        self._outcomes: dict[str, str] = {}
        self._cut = ""

    def begin(self, opened: OpenedRun) -> None:
        self.begin_at(opened.key)

    def begin_at(self, key: RunKey) -> None:
        self._created_at = int(key.began_at.timestamp())

    def wants(self, entry: Entry) -> bool:
        return self._is_begun or entry.seq == 1

    def lacks_events(self, entry: Entry) -> bool:
        return not self._is_begun

    async def load(self, member: Member, key: RunKey) -> None:
        run = await in_database(find_response, member=member, response=self.id, unstored=(self.id,))
        if run is not None:
            self.body = await in_database(response_body, member, run)

    def take(self, entry: Entry) -> Iterator[Part]:
        if entry.is_end and not self._is_begun:
            yield from self._from_stored()
            return
        event: Event = decode_event(entry.frame)
        if getattr(event, "subagent_run_id", None) is not None:
            return
        if isinstance(event, events.Custom) and event.name == "run.queued":
            if not self._is_queued and not self._is_in_progress:
                yield self.event("response.queued", response=self._partial("queued"))
            self._is_queued = True
            return
        was_queued, self._is_queued = self._is_queued, False
        if not self._is_begun:
            self._is_begun = True
            yield self.event("response.created", response=self._partial("in_progress"))
            return
        if isinstance(event, events.RunError):
            failure = failure_of(event, was_queued=was_queued)
            self.was_refused = failure.retry_after is not None
            raise failure
        if not self._is_in_progress:
            self._is_in_progress = True
            yield self.event("response.in_progress", response=self._partial("in_progress"))
        yield from self._take(event)

    def event(self, kind: str, **fields: Any) -> Part:
        """Return an event with the next number."""
        self._number += 1
        return {"type": kind, "sequence_number": self._number - 1, **fields}

    def failed(self, failure: CompletionFailed) -> Part:
        """Return the last event of a response that failed."""
        error = {"code": CODES.get(failure.code, failure.code), "message": str(failure)}
        return self.event("response.failed", response=self._body("failed", error=error))

    def skip_to(self, number: int) -> None:
        """Number further events after `number`, the last one that the client has seen."""
        self._number = max(self._number, number + 1)

    def _take(self, event: Event) -> Iterator[Part]:
        match event:
            case events.TextMessageContent(message_id=message_id, delta=delta):
                opened = self._texts[message_id]
                opened.text += delta
                where = self._place(opened) | {"content_index": 0}
                yield self.event("response.output_text.delta", **where, delta=delta, logprobs=[])
            case events.TextMessageStart(message_id=message_id):
                opened = self._texts[message_id] = _Open(len(self._output))
                yield self._added(self._writer.message(message_id, None, "in_progress"))
                where = self._place(opened) | {"content_index": 0}
                yield self.event("response.content_part.added", **where, part=text_part(""))
            case events.TextMessageEnd(message_id=message_id):
                opened = self._texts[message_id]
                where = self._place(opened) | {"content_index": 0}
                yield self.event("response.output_text.done", **where, text=opened.text, logprobs=[])
                yield self.event("response.content_part.done", **where, part=text_part(opened.text))
                yield self._done(opened.index, self._writer.message(message_id, opened.text, "completed"))
            case events.ReasoningStart(message_id=message_id):
                opened = self._texts[message_id] = _Open(len(self._output))
                yield self._added(self._writer.reasoning(_spoken(message_id), None, "in_progress"))
                where = self._place(opened) | {"summary_index": 0}
                yield self.event("response.reasoning_summary_part.added", **where, part=_summary(""))
            case events.ReasoningMessageContent(message_id=message_id, delta=delta):
                opened = self._texts[message_id]
                opened.text += delta
                where = self._place(opened) | {"summary_index": 0}
                yield self.event("response.reasoning_summary_text.delta", **where, delta=delta)
            case events.ReasoningEnd(message_id=message_id):
                opened = self._texts[message_id]
                where = self._place(opened) | {"summary_index": 0}
                yield self.event("response.reasoning_summary_text.done", **where, text=opened.text)
                yield self.event("response.reasoning_summary_part.done", **where, part=_summary(opened.text))
                yield self._done(opened.index, self._writer.reasoning(_spoken(message_id), opened.text, "completed"))
            case events.Custom(name="message.cut", value=value):
                self._cut = str(value["reason"])
            case events.Custom(name=name, value=value) if added := detail_of_event(name, value):
                yield from self._annotate(value["messageId"], added)
            case events.RunFinished():
                yield from self._finish(event)
            case _:
                yield from self._take_call(event)

    def _annotate(self, message_id: str, added: Mapping[str, Any]) -> Iterator[Part]:
        """Add annotations to a message that is complete."""
        opened = self._texts.get(message_id)
        if opened is None:
            return
        parts = [annotation_part(one) for one in annotations_in(added)]
        self._output[opened.index]["content"][0]["annotations"] = parts
        where = self._place(opened) | {"content_index": 0}
        for number, part in enumerate(parts):
            yield self.event("response.output_text.annotation.added", **where, annotation_index=number, annotation=part)

    def _take_call(self, event: Event) -> Iterator[Part]:
        match event:
            case events.ToolCallStart(tool_call_id=call_id, tool_call_name=name):
                call = self._calls[call_id] = ToolCall(call_id, name, "")
                # Those of the caller's own tools come at the end: the server may still refuse one.
                if name not in self._writer.own_tools:
                    self._shown[call_id] = len(self._output)
                    yield self._added(self._writer.server_call(call, "in_progress"))
                    yield self.event("response.mcp_call.in_progress", **self._place_of(call_id))
            case events.ToolCallArgs(tool_call_id=call_id, delta=delta) if call_id in self._calls:
                call = self._calls[call_id]
                self._calls[call_id] = ToolCall(call_id, call.name, call.arguments + delta)
                if call_id in self._shown:
                    yield self.event("response.mcp_call_arguments.delta", **self._place_of(call_id), delta=delta)
            case events.ToolCallEnd(tool_call_id=call_id) if call_id in self._shown:
                arguments = self._calls[call_id].arguments
                yield self.event("response.mcp_call_arguments.done", **self._place_of(call_id), arguments=arguments)
            case events.Custom(name="tool.finished", value=value):
                self._outcomes[str(value.get("toolCallId"))] = str(value.get("status"))
            case events.ToolCallResult(tool_call_id=call_id, content=content) if call_id in self._shown:
                yield from self._end_call(call_id, content)

    def _end_call(self, call_id: str, output: str | None, status: str = "") -> Iterator[Part]:
        is_failed = self._outcomes.get(call_id, "ok") != "ok"
        status = status or ("failed" if is_failed else "completed")
        if status != "incomplete":
            yield self.event(f"response.mcp_call.{status}", **self._place_of(call_id))
        index = self._shown.pop(call_id)
        yield self._done(index, self._writer.server_call(self._calls[call_id], status, output))

    def _finish(self, event: events.RunFinished) -> Iterator[Part]:
        stored = as_mapping(event)
        outcome = stored.get("outcome") or {}
        waiting = ids_of(outcome.get("interrupts") or ())
        for call_id in outcome.get("pendingToolCallIds") or ():
            yield from self._own_call(self._calls[call_id])
        for call_id in list(self._shown):
            yield from self._end_call(call_id, None, "" if call_id in self._outcomes else "incomplete")
        for call in (call for call_id, call in self._calls.items() if call_id in waiting):
            index, item = len(self._output), self._writer.approval_request(call)
            yield self._added(item)
            yield self._done(index, item)
        self.is_complete = True
        status = "cancelled" if outcome.get("type") == "cancelled" else "incomplete" if self._cut else "completed"
        self.body = self._body(status, usage=usage_of(stored.get("usage") or ()))
        yield self._last()

    def _own_call(self, call: ToolCall) -> Iterator[Part]:
        opened = _Open(len(self._output))
        yield self._added({**self._writer.function_call(call, "in_progress"), "arguments": ""})
        where = self._place(opened)
        yield self.event("response.function_call_arguments.delta", **where, delta=call.arguments)
        done = {"name": call.name, "arguments": call.arguments}
        yield self.event("response.function_call_arguments.done", **where, **done)
        yield self._done(opened.index, self._writer.function_call(call, "completed"))

    def _from_stored(self) -> Iterator[Part]:
        """Yield the last event alone, of a run whose events are no longer kept. Raises `CompletionFailed`."""
        if not self.body:
            raise CompletionFailed("interrupted", "The answer is not there any more.")
        self.is_complete = True
        if self.body["status"] == "failed":
            raise CompletionFailed(self.body["error"]["code"], self.body["error"]["message"])
        yield self._last()

    def _last(self) -> Part:
        kind = "completed" if self.body["status"] == "completed" else "incomplete"
        return self.event(f"response.{kind}", response=self.body)

    def _added(self, item: Part) -> Part:
        self._output.append(item)
        return self.event("response.output_item.added", output_index=len(self._output) - 1, item=item)

    def _done(self, index: int, item: Part) -> Part:
        self._output[index] = item
        return self.event("response.output_item.done", output_index=index, item=item)

    def _place(self, opened: _Open) -> Part:
        return {"item_id": self._output[opened.index]["id"], "output_index": opened.index}

    def _place_of(self, call_id: str) -> Part:
        index = self._shown[call_id]
        return {"item_id": self._output[index]["id"], "output_index": index}

    def _partial(self, status: str) -> Part:
        return body_of(self.id, self._echo, created_at=self._created_at, status=status, output=[])

    def _body(self, status: str, *, usage: Part | None = None, error: Part | None = None) -> Part:
        is_done = status == "completed"
        return body_of(
            self.id,
            self._echo,
            created_at=self._created_at,
            completed_at=(self._ended_at or int(time.time())) if is_done else None,
            status=status,
            output=self._output,
            usage=usage,
            error=error,
            incomplete=REASONS.get(self._cut, "max_output_tokens") if status == "incomplete" else None,
        )


def _spoken(reasoning_id: str) -> str:
    """Return the id of the message that the reasoning leads to."""
    return reasoning_id.removesuffix(REASONING_SUFFIX)


def _summary(text: str) -> Part:
    return {"type": "summary_text", "text": text}

"""Builds OpenAI's objects (models, completions, chunks and errors) from assistants and runs' events.

The format: https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import JsonResponse

from assistant.contrib.openai_api.error_bodies import error_body
from assistant.core.values import events
from assistant.core.values.events import Event
from assistant.core.values.messages import without_part
from assistant.models import Assistant
from assistant.services.conversations.added_details import Annotation, annotations_in, detail_of_event
from assistant.services.conversations.pagination import ClientMessage
from assistant.services.db.threads import in_database
from assistant.services.eventlog.frames import decode_event
from assistant.services.eventlog.log import Entry
from assistant.services.limits.runs_at_once import RETRY_SECONDS
from assistant.services.run_key import RunKey
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.reading.run_result import run_outcome
from assistant.services.tenancy.members import Member

# HTTP status and OpenAI's error type for each code of a run's error.
STATUS_OF_ERROR: Mapping[str, tuple[int, str]] = {
    "invalid_input": (400, "invalid_request_error"),
    "attachment_refused": (400, "invalid_request_error"),
    "limit_reached": (400, "invalid_request_error"),
    "thread_not_found": (404, "invalid_request_error"),
    "thread_busy": (409, "invalid_request_error"),
    "quota_exceeded": (429, "insufficient_quota"),
    "too_many_requests": (429, "rate_limit_error"),
    # Not 429, which OpenAI's clients answer by asking again.
    "provider_quota": (402, "api_error"),
    "provider_rate_limited": (429, "rate_limit_error"),
    "provider_error": (502, "api_error"),
    "provider_timeout": (504, "api_error"),
    "interrupted": (503, "api_error"),
    "unavailable": (503, "api_error"),
}
TYPE_OF_STATUS = {403: "permission_error", 429: "rate_limit_error", 500: "api_error", 503: "api_error"}
TEXT_SEPARATOR = "\n\n"


class CompletionFailed(Exception):
    """The run ended in an error, whose code is `code`.

    `retry_after`: seconds after which the request may be sent again, because nothing was done; None if it was.
    """

    def __init__(self, code: str, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after

    @property
    def status(self) -> int:
        return STATUS_OF_ERROR.get(self.code, (500, ""))[0]

    @property
    def body(self) -> dict[str, Any]:
        return error_body(str(self), kind=STATUS_OF_ERROR.get(self.code, (500, "api_error"))[1], code=self.code)

    def response(self, *, may_retry: bool = False) -> JsonResponse:
        """Return the error response. Unless `may_retry`, it asks clients not to retry, because tools may have run."""
        answer = JsonResponse(self.body, status=self.status)
        if self.retry_after is not None:
            answer["Retry-After"] = str(self.retry_after)
        if not may_retry and self.retry_after is None:
            answer["x-should-retry"] = "false"
        return answer


def failure_of(event: events.RunError, *, was_queued: bool) -> CompletionFailed:
    """Return the failure for the last event of a run; `was_queued`: the event before said that it waits."""
    if was_queued and event.code == "limit_reached":
        return CompletionFailed("too_many_requests", event.message, retry_after=RETRY_SECONDS)
    return CompletionFailed(event.code or "internal_error", event.message)


def error(
    status: int, message: str, *, code: str, param: str | None = None, headers: Mapping[str, str] | None = None
) -> JsonResponse:
    """Return an error response, for which OpenAI's clients raise the exception of its status."""
    kind = TYPE_OF_STATUS.get(status, "invalid_request_error")
    return JsonResponse(error_body(message, kind=kind, code=code, param=param), status=status, headers=headers)


def model_body(assistant: Assistant, tenant: str) -> dict[str, Any]:
    return {
        "id": assistant.slug,
        "object": "model",
        "created": int(assistant.created_at.timestamp()),
        "owned_by": tenant,
    }


@dataclass(frozen=True, slots=True)
class CompletionHeader:
    """The fields that all chunks of one completion share."""

    id: str
    model: str
    created: int

    @classmethod
    def now(cls, *, run_id: str, model: str) -> CompletionHeader:
        return cls(run_id, model, int(time.time()))

    def part(self, kind: str, choices: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        head = {"id": self.id, "object": kind, "created": self.created, "model": self.model}
        return {**head, "choices": list(choices), **more}

    def chunk(self, delta: Mapping[str, Any], finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self.part("chat.completion.chunk", [choice], **more)

    def completion(self, answer: Answer) -> dict[str, Any]:
        """Return the completion for a request without `stream`."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
        if answer.tool_calls:
            message["tool_calls"] = answer.tool_calls
        message.update(answer.told)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish_reason}
        return self.part("chat.completion", [choice], usage=answer.usage)


def _url_citation(annotation: Annotation, place: int) -> dict[str, Any]:
    cited = {"start_index": place + annotation.start, "end_index": place + annotation.end}
    return {"type": "url_citation", "url_citation": {**cited, "title": annotation.title, "url": annotation.url}}


def _is_answer(message: ClientMessage) -> bool:
    return message.role == "assistant" and bool(message.content) and not message.is_superseded


class Answer:
    """Collects one answer from a run's events: its text, and the calls of the caller's own tools.

    The tenant's tools do not appear: to the caller they are part of the model. Of a run that an earlier request has
    started, the texts are loaded from the database at its end, and come as a whole.
    """

    def __init__(self, header: CompletionHeader) -> None:
        self.header = header
        self.is_complete = False
        self._is_joined = False
        self.finish_reason = "stop"
        self.tool_calls: list[dict[str, Any]] = []
        self.usage: dict[str, Any] = {}
        self._is_queued = False
        # The run ended in the queue.
        self.was_refused = False
        # Of the message: links, and all that optional apps have added.
        self.told: dict[str, Any] = {}
        self._texts: list[str] = []
        self._text_id = ""
        self._places: dict[str, int] = {}
        self._calls: dict[str, dict[str, Any]] = {}

    @property
    def text(self) -> str:
        return "".join(self._texts).removeprefix(TEXT_SEPARATOR)

    @property
    def body(self) -> dict[str, Any]:
        return self.header.completion(self)

    def begin(self, opened: OpenedRun) -> None:
        self._is_joined = opened.setup is None

    def wants(self, entry: Entry) -> bool:
        return not self._is_joined

    def lacks_events(self, entry: Entry) -> bool:
        return self._is_joined

    async def load(self, member: Member, key: RunKey) -> None:
        outcome = await in_database(run_outcome, member=member, key=key)
        self._load_stored(outcome.messages)

    def _load_stored(self, messages: Sequence[ClientMessage]) -> None:
        answers = [one for one in messages if _is_answer(one)]
        for number, one in enumerate(answers):
            self._texts.append(one.content if number == 0 else TEXT_SEPARATOR + one.content)
            self._places[one.id] = len(self.text) - len(one.content)
        for one in answers:
            self._tell(one.id, one.added)
        for call in (call for one in messages for call in one.tool_calls):
            function = {"name": call["name"], "arguments": call["arguments"]}
            self._calls[call["id"]] = {"id": call["id"], "type": "function", "function": function}

    def take(self, entry: Entry) -> Iterator[str]:
        """Process one event, and yield the text that it adds. Raises `CompletionFailed` if the run failed."""
        event: Event = decode_event(entry.frame)
        if getattr(event, "subagent_run_id", None) is not None:
            return
        was_queued, self._is_queued = self._is_queued, isinstance(event, events.Custom) and event.name == "run.queued"
        match event:
            case events.TextMessageContent(message_id=message_id, delta=delta):
                message_id = without_part(message_id)
                if self._text_id and message_id != self._text_id:
                    delta = TEXT_SEPARATOR + delta
                if message_id != self._text_id:
                    self._places[message_id] = len(self.text) + len(TEXT_SEPARATOR if self._texts else "")
                self._text_id = message_id
                self._texts.append(delta)
                yield delta
            case events.ToolCallStart(tool_call_id=call_id, tool_call_name=name):
                self._calls[call_id] = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
            case events.ToolCallArgs(tool_call_id=call_id, delta=delta):
                self._calls[call_id]["function"]["arguments"] += delta
            case events.Custom(name="message.cut", value={"reason": "superseded"}):
                # A stream has sent it already; an answer in one piece is the later message alone.
                self._texts.clear()
            case events.Custom(name="message.cut", value=value):
                self.finish_reason = str(value["reason"])
            case events.Custom(name=name, value=value) if added := detail_of_event(name, value):
                self._tell(value["messageId"], added)
            case events.RunFinished():
                self._finish(event)
                if self._is_joined and self.text:
                    yield self.text
            case events.RunError():
                failure = failure_of(event, was_queued=was_queued)
                self.was_refused = failure.retry_after is not None
                raise failure

    def _tell(self, message_id: str, added: Mapping[str, Any]) -> None:
        place = self._places.get(message_id)
        if not added or place is None:
            return
        self.told["added"] = dict(added)
        links = [one for one in annotations_in(added) if one.url]
        if links:
            self.told["annotations"] = [_url_citation(one, place) for one in links]

    def _finish(self, event: events.RunFinished) -> None:
        outcome = event.outcome
        if not isinstance(outcome, events.Success):
            raise CompletionFailed("interrupted", "The answer was stopped.")
        self.tool_calls = [self._calls[call_id] for call_id in outcome.pending_tool_call_ids or ()]
        if self.tool_calls:
            self.finish_reason = "tool_calls"
        spent = event.usage or []
        prompt = sum(one.input_tokens or 0 for one in spent)
        completion = sum(one.output_tokens or 0 for one in spent)
        self.usage = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {
                "cached_tokens": sum(one.cached_input_tokens or 0 for one in spent),
                "cache_write_tokens": sum(one.cache_write_input_tokens or 0 for one in spent),
            },
            "completion_tokens_details": {"reasoning_tokens": sum(one.reasoning_tokens or 0 for one in spent)},
        }
        self.is_complete = True

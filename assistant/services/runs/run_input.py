"""Validates a client's `RunAgentInput`, and reduces it to what the server uses.

The server keeps the history. Of `messages` it uses only the trailing user message and trailing tool messages, so that a
client cannot write assistant, system or earlier messages.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ag_ui.core import AssistantMessage, RunAgentInput, TextPart, ToolMessage, UserMessage
from pydantic import ValidationError

from assistant.core.conversation.turn_endings import APPROVAL_SCHEMA
from assistant.core.llm.typed_output import check_schema
from assistant.services.errors import Refused
from assistant.services.runs.client_tools import client_tools_of
from assistant.services.runs.content_parts import File, check_text, parse_parts
from assistant.services.text import MAX_TEXT
from assistant.toolkit import Tool
from assistant.toolkit.text import clean_text
from assistant.toolkit.validation_errors import problems

MAX_ID_LENGTH, MAX_MODEL_LENGTH = 128, 200
MAX_ALLOWED = 1_000
_ID = re.compile(r"[!-~]{1,128}")


@dataclass(frozen=True, slots=True)
class TextMessage:
    """A user's message. `files`: ids of uploaded ones, and those that came with it until they are stored."""

    id: str
    text: str
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The result of a client-side tool."""

    id: str
    tool_call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Resume:
    """A person's answer to an interrupt. `is_answer`: its `response` answers a question, not an approval."""

    interrupt_id: str
    approved: bool
    edited_arguments: dict[str, Any] | None = None
    reason: str = ""
    response: str | None = None
    is_answer: bool = False


@dataclass(frozen=True, slots=True)
class PromptTest:
    """That a run tests a version of its assistant's prompt.

    Attributes:
        version: the version's primary key.
        tools: "stub" to run no tool that is not read-only, "ask" to ask the tester before each.
    """

    version: int
    tools: str


@dataclass(frozen=True, slots=True)
class RunInput:
    """The validated input of a run.

    Attributes:
        allowed_tools: the names of the only tools to use; None for all.
        follows: the id of the run that it follows, "" for none; None to follow what is shown.
        parent: the same by AG-UI's `parentRunId`, which may name a run of elsewhere.
        replaces: the id of the user's message in whose place `message` comes.
        model: which of the assistant's other models answers; "" for its own.
        previous: the id of the message before `message` in the client's history.
        test: the prompt that it tests; None for any other run.
    """

    thread_id: uuid.UUID
    run_id: str
    message: TextMessage | None = None
    tool_answers: tuple[ToolAnswer, ...] = ()
    resume: tuple[Resume, ...] = ()
    client_tools: tuple[Tool, ...] = ()
    output_schema: dict[str, Any] | None = None
    allowed_tools: frozenset[str] | None = None
    protocol_version: str = ""
    follows: str | None = None
    parent: str = ""
    replaces: str = ""
    previous: str = ""
    model: str = ""
    test: PromptTest | None = None


def parse_thread_id(value: object) -> uuid.UUID:
    """Parse a thread's id. Raises `Refused` unless it is a UUID."""
    try:
        return uuid.UUID(value if isinstance(value, str) else "")
    except ValueError as exc:
        raise Refused("invalid_input", "threadId must be a UUID.") from exc


def parse_run_id(value: object) -> str:
    """Validate a run's id. Raises `Refused` unless it is 1 to 128 printable ASCII characters without spaces."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise Refused("invalid_input", f"runId must be 1 to {MAX_ID_LENGTH} printable characters without spaces.")
    return value


def parse_input(data: Mapping[str, Any]) -> RunInput:
    """Parse a `RunAgentInput`. Raises `Refused` with a message that names the field."""
    try:
        given = RunAgentInput.model_validate(data)
    except ValidationError as exc:
        field, problem = problems(exc, root="input")[0]
        raise Refused("invalid_input", f"{field[:200]}: {problem[:200]}.") from exc
    message, answers = _trailing(given)
    replaces = _forwarded_id(given.forwarded_props, "replacesMessageId") if message is not None else None
    return RunInput(
        thread_id=parse_thread_id(given.thread_id),
        run_id=parse_run_id(given.run_id),
        message=message,
        tool_answers=answers,
        resume=tuple(
            _resume(clean_text(entry.interrupt_id), entry.status, entry.payload) for entry in given.resume or ()
        ),
        client_tools=client_tools_of(given.tools or []),
        output_schema=_output_schema(given.forwarded_props),
        allowed_tools=_allowed_tools(given.forwarded_props),
        protocol_version=given.protocol_version or "",
        follows=_forwarded_id(given.forwarded_props, "followsRunId"),
        parent=clean_text(given.parent_run_id or "")[:MAX_ID_LENGTH],
        replaces=replaces or "",
        previous=_previous(given) if message is not None else "",
        model=_model(given.forwarded_props),
        test=_prompt_test(given.forwarded_props),
    )


def _prompt_test(forwarded: object) -> PromptTest | None:
    version = forwarded.get("promptVersion") if isinstance(forwarded, Mapping) else None
    if not isinstance(forwarded, Mapping) or version is None:
        return None
    tools = forwarded.get("testTools", "stub")
    if not isinstance(version, int) or isinstance(version, bool) or not 0 < version < 2**63:
        raise Refused("invalid_input", "forwardedProps.promptVersion must be the id of a version, a whole number.")
    if tools not in ("stub", "ask"):
        raise Refused("invalid_input", "forwardedProps.testTools must be stub or ask.")
    return PromptTest(version, tools)


def _forwarded_id(forwarded: object, name: str) -> str | None:
    value = forwarded.get(name) if isinstance(forwarded, Mapping) else None
    if value is not None and (not isinstance(value, str) or (value and not _ID.fullmatch(value))):
        raise Refused("invalid_input", f"forwardedProps.{name} must be an id of at most {MAX_ID_LENGTH} characters.")
    return value


def _model(forwarded: object) -> str:
    """Return the name of the wanted model; opening the run checks that the assistant lists it."""
    name = forwarded.get("model") if isinstance(forwarded, Mapping) else None
    if name is not None and (not isinstance(name, str) or not 0 < len(name) <= MAX_MODEL_LENGTH):
        raise Refused("invalid_input", f"forwardedProps.model must be a name of at most {MAX_MODEL_LENGTH} characters.")
    return clean_text(name or "")


def _previous(given: RunAgentInput) -> str:
    """Return the id of the last message of a conversation before the trailing one; "" if there is none."""
    before = reversed(given.messages[:-1])
    return next((one.id for one in before if isinstance(one, UserMessage | AssistantMessage | ToolMessage)), "")


def _trailing(given: RunAgentInput) -> tuple[TextMessage | None, tuple[ToolAnswer, ...]]:
    """Return the last message if it is a user's, and the tool messages after the last assistant message."""
    message = None
    answers: list[ToolAnswer] = []
    for index, item in enumerate(reversed(given.messages)):
        if isinstance(item, UserMessage):
            if index == 0:
                message = _user_message(item)
        elif isinstance(item, ToolMessage):
            answers.append(
                ToolAnswer(_message_id(item.id), item.tool_call_id[:MAX_ID_LENGTH], parse_text(item.content))
            )
        else:
            break
    return message, tuple(reversed(answers))


def _user_message(item: UserMessage) -> TextMessage:
    content = item.content
    text, files = (content, ()) if isinstance(content, str) else parse_parts(content)
    return TextMessage(_message_id(item.id), check_text(text, has_files=bool(files)), files)


def _message_id(value: str) -> str:
    if not _ID.fullmatch(value):
        raise Refused(
            "invalid_input", f"A message id must be 1 to {MAX_ID_LENGTH} printable characters without spaces."
        )
    return value


def parse_text(content: str | list[Any]) -> str:
    """Return a message's text. Raises `Refused` if it is empty, too long, or has parts other than text."""
    if not isinstance(content, str):
        if any(not isinstance(part, TextPart) for part in content):
            raise Refused("invalid_input", "A message may have only text parts.")
        content = "\n".join(part.text for part in content)
    return check_text(content, has_files=False)


def _resume(interrupt_id: str, status: str, payload: object) -> Resume:
    if status == "cancelled":
        return Resume(interrupt_id, approved=False)
    if isinstance(payload, Mapping) and "approved" not in payload and payload:
        return Resume(interrupt_id, approved=True, response=_answer(payload), is_answer=True)
    if not isinstance(payload, Mapping) or not isinstance(payload.get("approved"), bool):
        raise Refused("invalid_input", 'A resume payload must be an object with "approved": true or false.')
    if unknown := set(payload) - set(APPROVAL_SCHEMA["properties"]):
        # Not ignored, because a call that the person meant to change would run unchanged.
        known = ", ".join(APPROVAL_SCHEMA["properties"])
        raise Refused("invalid_input", f"A resume payload has {known}, and no {clean_text(str(min(unknown)))[:100]}.")
    edited, reason, response = payload.get("editedArgs"), payload.get("reason", ""), payload.get("response")
    if edited is not None and not isinstance(edited, dict):
        raise Refused("invalid_input", "editedArgs must be an object.")
    if not isinstance(reason, str):
        raise Refused("invalid_input", "reason must be a text.")
    if response is not None and (not isinstance(response, str) or len(response) > MAX_TEXT or not payload["approved"]):
        raise Refused("invalid_input", f"response must be a text of at most {MAX_TEXT} characters, with approved true.")
    answer = None if response is None else clean_text(response)
    return Resume(interrupt_id, payload["approved"], edited, clean_text(reason)[:1000], answer)


def _answer(payload: Mapping[str, Any]) -> str:
    """Return the answer to a tool's question as JSON text; opening the run checks it against the question's schema."""
    text = clean_text(json.dumps(payload, ensure_ascii=False))
    if len(text) > MAX_TEXT:
        raise Refused("invalid_input", f"An answer holds at most {MAX_TEXT} characters.")
    return text


def _output_schema(forwarded: object) -> dict[str, Any] | None:
    """Return the JSON Schema that the answer has to fit, if the caller gives one."""
    schema = forwarded.get("outputSchema") if isinstance(forwarded, Mapping) else None
    if schema is None:
        return None
    try:
        return check_schema(schema)
    except ValueError as exc:
        raise Refused("invalid_input", f"forwardedProps.outputSchema: {exc}.") from exc


def _allowed_tools(forwarded: object) -> frozenset[str] | None:
    names = forwarded.get("allowedTools") if isinstance(forwarded, Mapping) else None
    if names is None:
        return None
    if not isinstance(names, list) or len(names) > MAX_ALLOWED or not all(isinstance(name, str) for name in names):
        raise Refused("invalid_input", f"forwardedProps.allowedTools must be a list of at most {MAX_ALLOWED} names.")
    return frozenset(names)

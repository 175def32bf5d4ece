"""Validates a client's `RunAgentInput`, and reduces it to what the server uses.

The server keeps the history. Of `messages` it uses only the trailing user message and trailing tool messages, so that a
client cannot write assistant, system or earlier messages.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    DeveloperMessage,
    RunAgentInput,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from pydantic import ValidationError

from assistant.models.fields import OnDisconnect, WhenBusy
from assistant.services.errors import Refused
from assistant.services.runs.client_tools import client_tools_of
from assistant.services.runs.content_parts import File, check_text, parse_parts
from assistant.services.runs.input.forwarded_props import PromptTest, parse_forwarded_props
from assistant.services.runs.input.ids import (
    MAX_CLIENT_ID,
    MAX_MESSAGE_ID,
    parse_message_id,
    parse_run_id,
    parse_thread,
)
from assistant.services.runs.input.page_context import parse_context, parse_state
from assistant.services.runs.input.resume_entries import Resume, parse_resume
from assistant.toolkit import Tool
from assistant.toolkit.text import clean_text
from assistant.toolkit.validation_errors import problems

# The ids kept of messages before the last one, newest first. They show where a client has cut its history.
MAX_HISTORY_IDS = 400


@dataclass(frozen=True, slots=True)
class TextMessage:
    """A user's message.

    Attributes:
        files: ids of uploaded ones, and those that came with it until they are stored.
        sources: where untrusted text in it came from; no client says it.
    """

    id: str
    text: str
    files: tuple[File, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The result of a client-side tool."""

    id: str
    tool_call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class AskedResponse:
    """How a caller of the Responses API wants to be answered.

    Attributes:
        instructions: read by the model before the new message, as the caller's words, and not kept.
        options: sent to the provider.
        kept: what `Run.response` keeps.
    """

    kept: Mapping[str, Any]
    instructions: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    tool_choice: str | None = None
    response_format: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class RunInput:
    """The validated input of a run.

    Attributes:
        thread_id: the conversation's, or the one that it gets if it is begun.
        thread_key: the client's threadId, where that is no id of ours; "" where `thread_id` is it.
        allowed_tools: the names of the only tools to use; None for all.
        follows: the id of the run that it follows, "" for none; None to follow what is shown.
        parent: the same by AG-UI's `parentRunId`, which may name a run of elsewhere.
        replaces: the id of the user's message in whose place `message` comes.
        model: which of the assistant's other models answers; "" for its own.
        before: ids and roles of the messages before the last one in the client's history, newest first.
        asked_last: the id of the last user message of a history that ends with another one; "" otherwise.
        test: the prompt that it tests; None for any other run.
        when_busy, on_disconnect: None to do as the assistant's setting says.
        context: what the client says of its page, for the model.
        state: what client and tools share.
        must_answer: whether a message is refused while interrupts are open and not answered, as AG-UI requires.
        is_unattended: whether nobody is there who could be asked. Tool calls that ask first are refused; no client says
            it of itself.
        has_instructions: whether it has system or developer messages, which are not used.
        asked: how a caller of the Responses API wants to be answered; None for any other.
        language: of the sentences that are made for it, where no request is being answered; "" for the active one.
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
    before: tuple[tuple[str, str], ...] = ()
    asked_last: str = ""
    model: str = ""
    test: PromptTest | None = None
    thread_key: str = ""
    when_busy: WhenBusy | None = None
    on_disconnect: OnDisconnect | None = None
    context: str = ""
    state: Any = None
    has_instructions: bool = False
    must_answer: bool = False
    asked: AskedResponse | None = None
    is_unattended: bool = False
    language: str = ""

    @property
    def thread(self) -> str:
        """The client's threadId."""
        return self.thread_key or str(self.thread_id)


def parse_thread_id(thread: str) -> uuid.UUID | None:
    """Return a threadId as the id of a conversation of ours, if it may be one."""
    try:
        return uuid.UUID(thread)
    except ValueError:
        return None


def parse_input(data: Mapping[str, Any]) -> RunInput:
    """Parse a `RunAgentInput`. Raises `Refused` with a message that names the field."""
    try:
        given = RunAgentInput.model_validate(data)
    except ValidationError as exc:
        field, problem = _closest(problems(exc, root="input"))
        raise Refused("invalid_input", f"{field[:200]}: {problem[:200]}.") from exc
    thread = parse_thread(given.thread_id)
    thread_id = parse_thread_id(thread)
    is_own = thread_id is not None and str(thread_id) == thread
    message, answers = _trailing(given)
    options = parse_forwarded_props(given.forwarded_props)
    replaces = options.replaces if message is not None else None
    return RunInput(
        thread_id=thread_id if thread_id is not None and is_own else uuid.uuid4(),
        thread_key="" if is_own else thread,
        run_id=parse_run_id(given.run_id),
        message=message,
        tool_answers=answers,
        resume=tuple(parse_resume(entry.interrupt_id, entry.status, entry.payload) for entry in given.resume or ()),
        client_tools=client_tools_of(given.tools or []),
        output_schema=options.output_schema,
        allowed_tools=options.allowed_tools,
        protocol_version=given.protocol_version or "",
        follows=options.follows,
        parent=clean_text(given.parent_run_id or "")[:MAX_CLIENT_ID],
        replaces=replaces or "",
        before=_before(given) if message is not None else (),
        asked_last=_asked_last(given) if message is None else "",
        model=options.model,
        test=options.test,
        when_busy=options.when_busy,
        on_disconnect=options.on_disconnect,
        context=parse_context(given.context),
        state=parse_state(given.state),
        must_answer=True,
        has_instructions=any(isinstance(one, SystemMessage | DeveloperMessage) for one in given.messages),
    )


def _closest(found: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return the first problem; of a value that is of none of several types, that of the type which it fits best.

    pydantic names a problem for each type, text before lists. The one whose place is deepest says the most.
    """
    place = found[0][0].rpartition(".")[0]
    of_value = [one for one in found if one[0].startswith(place)]
    return max(reversed(of_value), key=lambda one: one[0].count("."))


def _before(given: RunAgentInput) -> tuple[tuple[str, str], ...]:
    """Return ids and roles of the conversation's messages before the last one, newest first."""
    known = (
        one for one in reversed(given.messages[:-1]) if isinstance(one, UserMessage | AssistantMessage | ToolMessage)
    )
    return tuple((one.id, one.role) for _, one in zip(range(MAX_HISTORY_IDS), known, strict=False))


def _asked_last(given: RunAgentInput) -> str:
    return next((one.id for one in reversed(given.messages) if isinstance(one, UserMessage)), "")


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
                ToolAnswer(parse_message_id(item.id), item.tool_call_id[:MAX_MESSAGE_ID], parse_text(item.content))
            )
        else:
            break
    return message, tuple(reversed(answers))


def _user_message(item: UserMessage) -> TextMessage:
    content = item.content
    text, files = (content, ()) if isinstance(content, str) else parse_parts(content)
    return TextMessage(parse_message_id(item.id), check_text(text, has_files=bool(files)), files)


def parse_text(content: str | list[Any]) -> str:
    """Return a message's text. Raises `Refused` if it is empty, too long, or has parts other than text."""
    if not isinstance(content, str):
        if any(not isinstance(part, TextPart) for part in content):
            raise Refused("invalid_input", "A message may have only text parts.")
        content = "\n".join(part.text for part in content)
    return check_text(content, has_files=False)

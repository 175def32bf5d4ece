"""Validates a client's `RunAgentInput`, and reduces it to what the server uses.

The server keeps the history. Of `messages` it uses only the trailing user message and trailing tool messages, so that a
client cannot write assistant, system or earlier messages.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

from ag_ui.core import RunAgentInput, TextPart, ToolMessage, UserMessage
from django.utils.translation import gettext as _
from pydantic import ValidationError

from assistant.core.values.messages import AttachedFile, Message
from assistant.core.values.untrusted import bounded_sources
from assistant.models import Run
from assistant.services.errors import Refused
from assistant.services.runs.client_tools import client_tools_of
from assistant.services.runs.content_parts import File, parse_parts
from assistant.services.runs.input.forwarded_props import NO_OPTIONS, ForwardedProps, parse_forwarded_props
from assistant.services.runs.input.ids import (
    MAX_CLIENT_ID,
    MAX_MESSAGE_ID,
    parse_id,
    parse_message_id,
)
from assistant.services.runs.input.page_context import Page, parse_context, parse_state
from assistant.services.runs.input.resume_entries import Resume, parse_resume
from assistant.services.text import MAX_TEXT
from assistant.toolkit import Tool
from assistant.toolkit.text import clean_text
from assistant.toolkit.validation_errors import problems

# The ids kept of messages before the last one, newest first. They show where a client has cut its history.
MAX_HISTORY_IDS = 400
# What is new in a history are messages of these roles at its end.
ROLES_AT_END = frozenset({"user", "tool"})
_OF_CONVERSATION = frozenset({"user", "assistant", "tool"})
_INSTRUCTIONS = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class TextMessage:
    """A user's message.

    Attributes:
        files: ids of uploaded ones, and those that came with it until they are stored.
        sources: where untrusted text in it came from; no client says it,
            but for a tester's page, of a question that it was opened with.
    """

    id: str
    text: str
    files: tuple[File, ...] = ()
    sources: tuple[str, ...] = ()

    def stored(self, files: tuple[AttachedFile, ...] = ()) -> Message:
        """Return the message to store, with its files."""
        sources = bounded_sources((*self.sources, *(file.name for file in files))) if self.sources or files else ()
        return Message("user", self.text, id=self.id, sources=sources, attachments=files)


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The result of a client-side tool."""

    id: str
    tool_call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CallerSettings:
    """How the program that begins a run wants this one to be answered; nobody can be asked in it with a form.

    Attributes:
        instructions: read by the model before the new message, as the caller's words, and not kept.
        options: sent to the provider.
    """

    instructions: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    tool_choice: str | None = None
    response_format: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ClientHistory:
    """What a client's history says.

    Attributes:
        parent: AG-UI's `parentRunId`: the id of the run that the message follows, which may be one of elsewhere.
        before: ids and roles of the messages before the last one, newest first.
        asked_last: the id of the last user message of a history that ends with another one; "" otherwise.
        has_instructions: whether it has system or developer messages, which are not used.
    """

    parent: str = ""
    before: tuple[tuple[str, str], ...] = ()
    asked_last: str = ""
    has_instructions: bool = False


NO_HISTORY = ClientHistory()


@dataclass(frozen=True, slots=True)
class RunInput:
    """The validated input of a run.

    Attributes:
        thread_id: the conversation's, or the one that it gets if it is begun.
        thread_key: the client's threadId, where that is no id of ours; "" where `thread_id` is it.
        options: what the caller wants of this run.
        history: what the client's history says of the place of `message`.
        page: what the client says of its page; None for nothing.
        must_answer: whether a message is refused while interrupts are open and not answered, as AG-UI requires.
        is_unattended: whether nobody is there who could be asked. Tool calls that ask first are refused; no client says
            it of itself.
        asked: how a program that begins it wants it to be answered; None for any other.
        on_begun: called with the run's row in the transaction that stores it.
        language: of the sentences that are made for it, where no request is being answered; "" for the active one.
    """

    thread_id: uuid.UUID
    run_id: str
    message: TextMessage | None = None
    tool_answers: tuple[ToolAnswer, ...] = ()
    resume: tuple[Resume, ...] = ()
    client_tools: tuple[Tool, ...] = ()
    protocol_version: str = ""
    options: ForwardedProps = NO_OPTIONS
    history: ClientHistory = NO_HISTORY
    page: Page | None = None
    thread_key: str = ""
    must_answer: bool = False
    asked: CallerSettings | None = None
    on_begun: Callable[[Run], object] | None = None
    is_unattended: bool = False
    language: str = ""

    @property
    def has_files(self) -> bool:
        """Whether its message comes with files."""
        return self.message is not None and bool(self.message.files)

    @property
    def file_lists(self) -> list[tuple[File, ...]]:
        """The files of its message, as the only list."""
        return [] if self.message is None else [self.message.files]

    def with_file_lists(self, lists: list[tuple[File, ...]]) -> RunInput:
        """Return the input with other files, in the order of `file_lists`."""
        return self if self.message is None else replace(self, message=replace(self.message, files=lists[0]))

    @property
    def thread(self) -> str:
        """The client's threadId."""
        return self.thread_key or str(self.thread_id)


def parse_input(data: Mapping[str, Any]) -> RunInput:
    """Parse a `RunAgentInput`. Raises `Refused` with a message that names the field."""
    heads, end = _heads(data.get("messages"))
    given = _validated(data, skipped=end)
    thread = parse_id(given.thread_id, "threadId")
    try:
        thread_id = uuid.UUID(thread)
    except ValueError:
        thread_id = uuid.uuid4()
    is_own = str(thread_id) == thread
    message, answers = _trailing(given)
    conversation = (head for head in reversed(heads[:-1]) if head.role in _OF_CONVERSATION)
    # Some clients send an empty list for an empty object.
    options = parse_forwarded_props(given.forwarded_props) if given.forwarded_props else NO_OPTIONS
    if message is None and options.replaces:
        options = replace(options, replaces=None)
    return RunInput(
        thread_id=thread_id if is_own else uuid.uuid4(),
        thread_key="" if is_own else thread,
        run_id=parse_id(given.run_id, "runId"),
        message=message,
        tool_answers=answers,
        resume=tuple(parse_resume(entry.interrupt_id, entry.status, entry.payload) for entry in given.resume or ()),
        client_tools=client_tools_of(given.tools) if given.tools else (),
        protocol_version=given.protocol_version or "",
        options=options,
        history=ClientHistory(
            parent=clean_text(given.parent_run_id or "")[:MAX_CLIENT_ID],
            before=() if message is None else tuple(islice(conversation, MAX_HISTORY_IDS)),
            asked_last=_asked_last(heads) if message is None else "",
            has_instructions=any(head.role in _INSTRUCTIONS for head in heads),
        ),
        page=Page(parse_context(given.context), parse_state(given.state)) if given.context or given.state else None,
        must_answer=True,
    )


class _Head(NamedTuple):
    """What is used of every message."""

    id: str
    role: str


def _heads(messages: object) -> tuple[list[_Head], int]:
    """Return the ids and roles of all messages, and how many of them are not needed further.

    Raises `Refused` if a message has none. Lists that are none are left to `_validated`.
    """
    if not isinstance(messages, list):
        return [], 0
    heads = []
    for number, message in enumerate(messages):
        given = message if isinstance(message, Mapping) else {}
        identity, role = given.get("id"), given.get("role")
        if not isinstance(identity, str) or not isinstance(role, str):
            raise Refused("invalid_input", f"messages.{number}: must be an object with an id and a role.")
        heads.append(_Head(identity, role))
    end = max((number for number, head in enumerate(heads, 1) if head.role not in ROLES_AT_END), default=0)
    return heads, max(0, min(end, len(heads) - 1))


def _validated(data: Mapping[str, Any], *, skipped: int) -> RunAgentInput:
    """Return the input without the first messages, in which a client may have written anything."""
    needed = {**data, "messages": data["messages"][skipped:]} if skipped else data
    try:
        return RunAgentInput.model_validate(needed)
    except ValidationError as exc:
        field, problem = _closest(problems(exc, root="input"))
        name, _, rest = field.partition(".")
        number, dot, inner = rest.partition(".")
        if name == "messages" and number.isdigit():
            field = f"{name}.{int(number) + skipped}{dot}{inner}"
        raise Refused("invalid_input", f"{field[:200]}: {problem[:200]}.") from exc


def _closest(found: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return the first problem; of a value that is of none of several types, that of the type which it fits best.

    pydantic names a problem for each type, text before lists. The one whose place is deepest says the most.
    """
    place = found[0][0].rpartition(".")[0]
    of_value = [one for one in found if one[0].startswith(place)]
    return max(reversed(of_value), key=lambda one: one[0].count("."))


def _asked_last(heads: Sequence[_Head]) -> str:
    return next((head.id for head in reversed(heads) if head.role == "user"), "")


def _trailing(given: RunAgentInput) -> tuple[TextMessage | None, tuple[ToolAnswer, ...]]:
    """Return the last message if it is a user's, and the tool messages after the last assistant message."""
    message = None
    answers: list[ToolAnswer] = []
    for index, item in enumerate(reversed(given.messages)):
        if isinstance(item, UserMessage):
            if index == 0:
                content = item.content
                text, files = (content, ()) if isinstance(content, str) else parse_parts(content)
                message = TextMessage(parse_message_id(item.id), check_text(text, has_files=bool(files)), files)
        elif isinstance(item, ToolMessage):
            answers.append(
                ToolAnswer(parse_message_id(item.id), item.tool_call_id[:MAX_MESSAGE_ID], parse_text(item.content))
            )
        else:
            break
    return message, tuple(reversed(answers))


def parse_text(content: str | list[Any]) -> str:
    """Return a message's text. Raises `Refused` if it is empty, too long, or has parts other than text."""
    if not isinstance(content, str):
        if any(not isinstance(part, TextPart) for part in content):
            raise Refused("invalid_input", "A message may have only text parts.")
        content = "\n".join(part.text for part in content)
    return check_text(content, has_files=False)


def check_text(text: str, *, has_files: bool) -> str:
    """Return a message's text. Raises `Refused` if it is too long, or empty without a file."""
    if len(text) > MAX_TEXT:
        raise Refused("invalid_input", _("A message holds at most %(count)d characters.") % {"count": MAX_TEXT})
    text = clean_text(text)
    if not text.strip() and not has_files:
        raise Refused("invalid_input", _("A message must not be empty."))
    return text

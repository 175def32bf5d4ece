"""Reads the input of a response: messages, calls and results as OpenAI's items, and references to stored ones."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assistant.contrib.openai_api.services.request_fields import (
    MAX_ID_LENGTH,
    MAX_MESSAGES,
    MAX_SAID,
    InvalidRequest,
    go_on_after,
    text_of,
)
from assistant.contrib.openai_api.services.responses.ids import parse_file_id, parse_item_id
from assistant.core.values.messages import Message, ToolCall
from assistant.services.errors import Refused
from assistant.services.runs.content_parts import MAX_FILES, NO_ADDRESSES, REFUSED, InlineFile, decode, from_url
from assistant.toolkit.text import clean_text

ROLES = ("user", "system", "developer", "assistant")
# The parts of a message that are text, and the field that holds it.
_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
# Items that are ignored: reasoning is not sent back to the model, a request for approval is stored already, and what
# tools of OpenAI's have found is in the answers after them.
SKIPPED = frozenset(
    {
        "reasoning",
        "mcp_approval_request",
        "mcp_list_tools",
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
    }
)


@dataclass(frozen=True, slots=True)
class Said:
    """A message. `files` are in it, or named by the id of an upload; `sources` mark one that the server has stored."""

    role: str
    text: str
    where: str
    files: tuple[InlineFile | uuid.UUID, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a tool; `result` is that of a server's tool, None for the caller's own."""

    call: ToolCall
    where: str
    result: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The result of a tool that the caller ran."""

    call_id: str
    text: str
    where: str


@dataclass(frozen=True, slots=True)
class Referred:
    """An item of an earlier response, by its id."""

    id: str
    where: str


@dataclass(frozen=True, slots=True)
class Approved:
    """The caller's decision on a call that waits for approval. `request` is the id of the item that asked."""

    request: str
    approved: bool
    reason: str
    where: str


Item = Said | Called | Answered | Referred | Approved


def parse_items(given: object) -> tuple[Item, ...]:
    """Return the items of `input`, a text or a list. Raises `InvalidRequest`; `Refused` for a file that is refused."""
    if isinstance(given, str):
        return (Said("user", text_of(given, "input", most=MAX_SAID), "input"),)
    if not isinstance(given, list) or not 0 < len(given) <= MAX_MESSAGES:
        raise InvalidRequest("input", f"must be a text, or a list of 1 to {MAX_MESSAGES} items.")
    found = (_item(item, f"input[{index}]") for index, item in enumerate(given))
    # Clients that were stopped before the first word send an empty answer back, which no provider takes.
    return tuple(item for item in found if item is not None and not _is_empty(item))


def _is_empty(item: Item) -> bool:
    return isinstance(item, Said) and not item.text.strip() and not item.files


def _item(item: object, where: str) -> Item | None:
    if not isinstance(item, dict):
        raise InvalidRequest(where, "must be an object.")
    kind = item.get("type") or ("message" if "role" in item else "item_reference")
    match kind:
        case "message":
            return _message(item, where)
        case "function_call":
            call_id = text_of(item.get("call_id"), f"{where}.call_id", most=MAX_ID_LENGTH)
            return Called(_call(item, where, call_id), where)
        case "mcp_call":
            output = item.get("output")
            given = output if output is not None else item.get("error") or ""
            result = text_of(given, f"{where}.output", least=0, most=MAX_SAID)
            return Called(_call(item, where, _id_of_call(item, where)), where, result)
        case "function_call_output":
            call_id = text_of(item.get("call_id"), f"{where}.call_id", most=MAX_ID_LENGTH)
            return Answered(call_id, _output(item.get("output"), f"{where}.output"), where)
        case "item_reference":
            return Referred(text_of(item.get("id"), f"{where}.id", most=4 * MAX_ID_LENGTH), where)
        case "mcp_approval_response":
            return _approval(item, where)
        case str() if kind in SKIPPED:
            return None
    raise InvalidRequest(f"{where}.type", f"items of the type {str(kind)[:100]} are not supported.")


def _message(item: Mapping[str, Any], where: str) -> Said:
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        raise InvalidRequest(f"{where}.role", f"must be {', '.join(ROLES)}.")
    if isinstance(content, str):
        return Said(role, text_of(content, f"{where}.content", least=0, most=MAX_SAID), where)
    if not isinstance(content, list):
        raise InvalidRequest(f"{where}.content", "must be a text or a list of parts.")
    texts, files = [], []
    for index, part in enumerate(content):
        place = f"{where}.content[{index}]"
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(kind, str) and kind in _TEXTS:
            texts.append(text_of(part.get(_TEXTS[kind]), place, least=0, most=MAX_SAID))
        elif kind in ("input_image", "input_file") and role == "user":
            files.append(_file(part, kind, place))
        else:
            raise InvalidRequest(
                place, "must be of the type input_text, or in a user's message input_image, input_file."
            )
    if len(files) > MAX_FILES:
        raise InvalidRequest(f"{where}.content", f"may have at most {MAX_FILES} files.")
    text = text_of("\n".join(texts), f"{where}.content", least=0, most=MAX_SAID)
    return Said(role, text, where, tuple(files))


def _file(part: Mapping[str, Any], kind: str, where: str) -> InlineFile | uuid.UUID:
    if part.get("file_url") is not None:
        raise Refused(REFUSED, NO_ADDRESSES)
    if (given := part.get("file_id")) is not None:
        found = parse_file_id(given)
        if found is None:
            raise Refused(REFUSED, "A file's id must be the one that its upload returned.")
        return found
    data = part.get("image_url" if kind == "input_image" else "file_data")
    if not isinstance(data, str):
        raise InvalidRequest(where, "needs file_id, or the file itself as a data: URL.")
    given = part.get("filename")
    name = clean_text(given)[:300] if isinstance(given, str) else kind.removeprefix("input_")
    if kind == "input_file" and not data.startswith(("data:", "http:", "https:")):
        return InlineFile(name, decode(data))
    return from_url(data, name)


def _id_of_call(item: Mapping[str, Any], where: str) -> str:
    """Return the id of the call that an item of a server's tool is of."""
    given = text_of(item.get("id"), f"{where}.id", most=4 * MAX_ID_LENGTH)
    found = parse_item_id(given)
    return (given if found is None else found[2])[:MAX_ID_LENGTH]


def _call(item: Mapping[str, Any], where: str, call_id: str) -> ToolCall:
    return ToolCall(
        id=call_id,
        name=text_of(item.get("name"), f"{where}.name", most=MAX_ID_LENGTH),
        arguments=text_of(item.get("arguments"), f"{where}.arguments", least=0),
    )


def _output(output: object, where: str) -> str:
    if isinstance(output, list):
        if any(not isinstance(part, dict) or part.get("type") not in ("input_text", "output_text") for part in output):
            raise InvalidRequest(where, "may hold text alone; send an image or a file in a user's message.")
        output = "\n".join(text_of(part.get("text"), where, least=0, most=MAX_SAID) for part in output)
    return text_of(output, where, least=0, most=MAX_SAID)


def _approval(item: Mapping[str, Any], where: str) -> Approved:
    approved, reason = item.get("approve"), item.get("reason")
    if not isinstance(approved, bool):
        raise InvalidRequest(f"{where}.approve", "must be true or false.")
    request = text_of(item.get("approval_request_id"), f"{where}.approval_request_id", most=4 * MAX_ID_LENGTH)
    return Approved(request, approved, text_of(reason or "", f"{where}.reason", least=0, most=1000), where)


@dataclass(slots=True)
class Turns:
    """Puts items together to messages: neighbouring calls belong to one message, which their results follow.

    Attributes:
        messages: what was put together so far.
        where: the field that each came in.
        files: those of users' messages, by the id of the message.
        question: the id of the user's last message, "" if none follows the last answer.
    """

    messages: list[Message] = field(default_factory=list)
    where: list[str] = field(default_factory=list)
    files: dict[str, tuple[InlineFile, ...]] = field(default_factory=dict)
    question: str = ""
    _calls: list[ToolCall] = field(default_factory=list)
    _results: list[tuple[Message, str]] = field(default_factory=list)
    _has_own_results: bool = False
    _where_called: str = ""

    def add(self, item: Said | Called | Answered, *, inline: Callable[[uuid.UUID], InlineFile]) -> None:
        """Add an item. `inline` returns an uploaded file by its id."""
        match item:
            case Said():
                self.end()
                message = Message(
                    "assistant" if item.role == "assistant" else "user",
                    item.text,
                    id=uuid.uuid4().hex,
                    sources=item.sources,
                )
                if item.files:
                    files = (inline(one) if isinstance(one, uuid.UUID) else one for one in item.files)
                    self.files[message.id] = tuple(files)
                self._append(message, item.where)
                if item.role == "user":
                    self.question = message.id
            case Called(call, where, result):
                if self._has_own_results or any(one.id == call.id for one in self._calls):
                    self.end()
                self._calls.append(call)
                if result is not None:
                    self._results.append((_result(call.id, result), where))
                elif not self._where_called:
                    self._where_called = where
            case Answered(call_id, text, where):
                self._has_own_results = True
                self._results.append((_result(call_id, text), where))

    def end(self) -> None:
        """Put the calls so far, and their results, into messages."""
        if self._calls:
            last = self.messages[-1] if self.messages else None
            if last is not None and last.role == "assistant" and not last.tool_calls:
                self.messages[-1] = replace(last, tool_calls=tuple(self._calls))
            else:
                message = Message("assistant", "", id=uuid.uuid4().hex, tool_calls=tuple(self._calls))
                self._append(message, self._where_called or self._results[0][1])
        for message, where in self._results:
            self._append(message, where)
        self._calls, self._results, self._has_own_results, self._where_called = [], [], False, ""

    def ask(self, message: Message) -> None:
        """Put a user's message behind the others."""
        self._append(message, self.where[-1])
        self.question = message.id

    def _append(self, message: Message, where: str) -> None:
        self.messages.append(message)
        if message.role == "assistant":
            self.question = ""
        self.where.append(where)


def _result(call_id: str, text: str) -> Message:
    return Message("tool", text, id=uuid.uuid4().hex, tool_call_id=call_id, from_caller=True)


def new_messages(items: Sequence[Said | Called | Answered], *, inline: Callable[[uuid.UUID], InlineFile]) -> Turns:
    """Return items as messages; `inline` returns an uploaded file by its id."""
    turns = Turns()
    for item in items:
        turns.add(item, inline=inline)
    turns.end()
    if (go_on := go_on_after(turns.messages)) is not None:
        turns.ask(go_on)
    return turns

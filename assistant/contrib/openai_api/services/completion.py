"""Validates a chat-completions request, and reduces it to the input of a stateless run.

The format is that of https://platform.openai.com/docs/api-reference/chat/create. The caller keeps the history. The
assistant's prompt is put before it, and the caller's system messages become messages of the user.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from assistant.contrib.openai_api.services.request_fields import (
    MAX_ID_LENGTH,
    MAX_MESSAGES,
    MAX_SAID,
    Bounds,
    InvalidRequest,
    check_turns,
    flag_of,
    function_tools,
    go_on_after,
    number_of,
    text_of,
)
from assistant.contrib.openai_api.services.stateless_runs import StatelessInput
from assistant.core.values.messages import Message, ToolCall
from assistant.services.errors import Refused
from assistant.services.runs.client_tools import MAX_TOOLS
from assistant.services.runs.content_parts import MAX_FILES, REFUSED, File, InlineFile, from_url, name_of
from assistant.services.runs.run_input import CallerSettings
from assistant.toolkit import Tool
from assistant.toolkit.schema.bounds import InvalidSchema, check_size

# Options that are sent to the provider unchanged: name, type, minimum, maximum.
NUMBERS: Mapping[str, Bounds] = {
    "temperature": (float, 0, 2),
    "top_p": (float, 0, 1),
    "frequency_penalty": (float, -2, 2),
    "presence_penalty": (float, -2, 2),
    "max_tokens": (int, 1, 2**31),
    "max_completion_tokens": (int, 1, 2**31),
    "seed": (int, -(2**63), 2**63),
}
MAX_STOPS = 4
# Not supported. Refused, because the caller would not notice that they are ignored.
UNSUPPORTED = ("functions", "logprobs", "audio")
# Content parts that are files: the key of the data: URL, and the name of a file without one.
FILE_PARTS = {"image_url": ("url", "image"), "file": ("file_data", "file")}
# Says to the model that there was a part of an earlier message which it does not get.
NO_SOUND = "[A sound recording, which cannot be played here.]"


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A validated chat-completions request. `model` is the slug of the assistant."""

    model: str
    run: StatelessInput
    is_streamed: bool
    with_usage: bool


def parse_completion(body: Mapping[str, Any]) -> CompletionRequest:
    """Parse a request. Raises `InvalidRequest`."""
    for name in UNSUPPORTED:
        if body.get(name):
            raise InvalidRequest(name, "is not supported.")
    if body.get("function_call") not in (None, "auto", "none"):
        raise InvalidRequest("function_call", "is not supported.")
    if body.get("n") not in (None, 1):
        raise InvalidRequest("n", "must be 1.")
    files: dict[str, tuple[File, ...]] = {}
    messages, question = _messages(body.get("messages"), files)
    client_tools = _tools(body.get("tools"))
    options = body.get("stream_options")
    is_streamed = flag_of(body, "stream")
    if options is not None and not is_streamed:
        raise InvalidRequest("stream_options", "is only allowed when stream is true.")
    return CompletionRequest(
        model=text_of(body.get("model"), "model", most=MAX_ID_LENGTH),
        run=StatelessInput(
            run_id=f"chatcmpl-{uuid.uuid4().hex}",
            messages=messages,
            new=_new(messages),
            question=question,
            files=files,
            client_tools=client_tools,
            asked=CallerSettings(
                options=_options(body),
                tool_choice=_tool_choice(body.get("tool_choice"), {tool.name for tool in client_tools}),
                response_format=_response_format(body.get("response_format")),
            ),
        ),
        is_streamed=is_streamed,
        with_usage=flag_of(options, "include_usage") if isinstance(options, dict) else False,
    )


def _messages(given: object, files: dict[str, tuple[File, ...]]) -> tuple[tuple[Message, ...], str]:
    """Return the messages and the id of the question; their files are put into `files`."""
    if not isinstance(given, list) or not 0 < len(given) <= MAX_MESSAGES:
        raise InvalidRequest("messages", f"must be a list of 1 to {MAX_MESSAGES} messages.")
    # What is before the last answer was accepted once: nothing of it may end the conversation now.
    answered = max((n for n, item in enumerate(given) if _role_of(item) == "assistant"), default=-1)
    messages: list[Message] = []
    where: list[str] = []
    question = ""
    for number, item in enumerate(given):
        place = f"messages[{number}]"
        message = _message(item, place, files, is_answered=number < answered)
        # Clients that were stopped before the first word send an empty answer back, which no provider takes.
        if message.role == "tool" or message.content.strip() or message.tool_calls or message.id in files:
            messages.append(message)
            where.append(place)
            if message.role == "assistant":
                question = ""
            elif _role_of(item) == "user":
                question = message.id
    if not messages:
        raise InvalidRequest("messages", "must have something to answer.")
    if (go_on := go_on_after(messages)) is not None:
        messages.append(go_on)
        where.append(where[-1])
        question = go_on.id
    check_turns(messages, where, name="messages")
    return tuple(messages), question


def _role_of(item: object) -> object:
    return item.get("role") if isinstance(item, dict) else None


def _message(item: object, where: str, files: dict[str, tuple[File, ...]], *, is_answered: bool) -> Message:
    if not isinstance(item, dict):
        raise InvalidRequest(where, "must be an object.")
    role, content = item.get("role"), item.get("content")
    if role == "assistant":
        calls = _calls(item.get("tool_calls"), where)
        said = item.get("refusal") if content is None else content
        return Message("assistant", _content(said, where), id=uuid.uuid4().hex, tool_calls=calls)
    if role == "user" and isinstance(content, list):
        return _user_message(content, where, files, is_answered=is_answered)
    text = _content(content, where)
    if role == "tool":
        call_id = text_of(item.get("tool_call_id"), f"{where}.tool_call_id", most=MAX_ID_LENGTH)
        return Message("tool", text, id=uuid.uuid4().hex, tool_call_id=call_id, from_caller=True)
    if role not in ("user", "system", "developer"):
        raise InvalidRequest(f"{where}.role", "must be system, developer, user, assistant or tool.")
    return Message("user", text, id=uuid.uuid4().hex)


def _user_message(parts: list[object], where: str, files: dict[str, tuple[File, ...]], *, is_answered: bool) -> Message:
    if is_answered:
        parts = [{"type": "text", "text": NO_SOUND} if _type_of(part) == "input_audio" else part for part in parts]
    given = [part for part in parts if isinstance(part, dict) and _is_file(part)]
    text = _content([part for part in parts if not _is_file(part)], where)
    message = Message("user", text, id=uuid.uuid4().hex)
    if given:
        try:
            files[message.id] = _files_of_parts(given)
        except Refused as exc:
            if exc.code != "invalid_input":
                raise
            raise InvalidRequest(f"{where}.content", str(exc)) from exc
    return message


def _files_of_parts(parts: Sequence[Mapping[str, Any]]) -> tuple[File, ...]:
    """Return the files of content parts of the types in `FILE_PARTS`.

    Raises:
        Refused: `attachment_refused`, a file cannot be taken; `invalid_input`, a part has none.
    """
    if len(parts) > MAX_FILES:
        raise Refused(REFUSED, _("A message may have at most %(count)d files.") % {"count": MAX_FILES})
    return tuple(_file_of_part(part) for part in parts)


def _file_of_part(part: Mapping[str, Any]) -> InlineFile:
    key, kind = FILE_PARTS[part["type"]]
    given = part.get(part["type"])
    url = given.get(key) if isinstance(given, Mapping) else None
    if not isinstance(url, str):
        raise Refused("invalid_input", f"A part of the type {part['type']} needs {key}, with a data: URL.")
    return from_url(url, name_of(given, kind))


def _is_file(part: object) -> bool:
    kind = _type_of(part)
    return isinstance(kind, str) and kind in FILE_PARTS


def _type_of(part: object) -> object:
    return part.get("type") if isinstance(part, dict) else None


def _content(content: object, where: str) -> str:
    """Return the text of a message's content, "" for none."""
    place = f"{where}.content"
    if isinstance(content, list):
        content = "\n".join(_text(part, place) for part in content)
    return "" if content is None else text_of(content, place, least=0, most=MAX_SAID)


def _text(part: object, where: str) -> str:
    if not isinstance(part, dict) or (kind := part.get("type")) not in ("text", "refusal"):
        raise InvalidRequest(where, "may hold parts of the type text, and a user's also image_url and file.")
    return text_of(part.get(str(kind)), where, least=0, most=MAX_SAID)


def _calls(given: object, where: str) -> tuple[ToolCall, ...]:
    if not given:
        return ()
    if not isinstance(given, list) or len(given) > MAX_TOOLS:
        raise InvalidRequest(f"{where}.tool_calls", "must be a list.")
    calls = []
    for index, item in enumerate(given):
        here = f"{where}.tool_calls[{index}]"
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict):
            raise InvalidRequest(here, "must have an id and a function.")
        calls.append(
            ToolCall(
                id=text_of(item.get("id"), f"{here}.id", most=MAX_ID_LENGTH),
                name=text_of(function.get("name"), f"{here}.function.name", most=MAX_ID_LENGTH),
                arguments=text_of(function.get("arguments"), f"{here}.function.arguments", least=0),
            )
        )
    if len({call.id for call in calls}) != len(calls):
        raise InvalidRequest(f"{where}.tool_calls", "must have different ids.")
    return tuple(calls)


def _new(messages: Sequence[Message]) -> int:
    """Return the number of messages after the last answer."""
    return next((n for n, message in enumerate(reversed(messages)) if message.role == "assistant"), len(messages))


def _tools(given: object) -> tuple[Tool, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > MAX_TOOLS:
        raise InvalidRequest("tools", f"must be a list of at most {MAX_TOOLS} tools.")
    functions: list[Mapping[str, Any]] = []
    for index, item in enumerate(given):
        function = item.get("function") if isinstance(item, dict) and item.get("type") == "function" else None
        if not isinstance(function, dict):
            raise InvalidRequest(f"tools[{index}]", "must be of the type function.")
        functions.append(function)
    return function_tools(functions, [f"tools[{index}].function" for index in range(len(given))])


def _tool_choice(given: object, own: set[str]) -> str | None:
    if given is None or given in ("auto", "none"):
        return str(given) if given else None
    if given == "required" and own:
        return "required"
    function = given.get("function") if isinstance(given, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if name in own:
        return str(name)
    raise InvalidRequest("tool_choice", "must be auto, none, or force one of the request's own tools.")


def _options(body: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {name: number_of(body, name, bounds) for name, bounds in NUMBERS.items()}
    options: dict[str, Any] = {name: value for name, value in numbers.items() if value is not None}
    stop = body.get("stop")
    if stop is not None:
        stops = [one for one in (stop if isinstance(stop, list) else [stop]) if one != ""]
        if len(stops) > MAX_STOPS:
            raise InvalidRequest("stop", f"must be at most {MAX_STOPS} texts.")
        if stops:
            options["stop"] = [text_of(one, "stop", most=1000) for one in stops]
    if body.get("parallel_tool_calls") is not None and body.get("tools"):
        options["parallel_tool_calls"] = flag_of(body, "parallel_tool_calls")
    return options


def _response_format(given: object) -> Mapping[str, Any] | None:
    if given is None or given == {"type": "text"}:
        return None
    if not isinstance(given, dict) or given.get("type") not in ("json_object", "json_schema"):
        raise InvalidRequest("response_format", "must be of the type text, json_object or json_schema.")
    try:
        check_size(given)
    except InvalidSchema as exc:
        raise InvalidRequest("response_format", f"cannot be used: {exc}.") from exc
    return given

"""Reads the fields of requests in OpenAI's formats: texts, numbers, the caller's own tools."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from assistant.core.values.messages import Message
from assistant.services.errors import Refused
from assistant.services.runs.client_tools import MAX_TOOLS, check_sizes
from assistant.services.text import MAX_TEXT
from assistant.toolkit import InvalidTool, Tool
from assistant.toolkit.text import clean_text

# As many as OpenAI takes in one request.
MAX_MESSAGES = 2_048
# Characters of one message: more than fits into a model's window, to which the history is cut.
MAX_SAID = 4_000_000
MAX_ID_LENGTH = 128
# For the model, not for people.
GO_ON = "Go on where your last message ends. Do not repeat it."
# OpenAI's names of what is wrong with a request.
ErrorCode = Literal[
    "invalid_value",
    "unknown_parameter",
    "unsupported_parameter",
    "previous_response_not_found",
    "item_not_found",
    "unknown_event",
]
ERROR_CODES: tuple[str, ...] = get_args(ErrorCode)
# The type, minimum and maximum of a number.
Bounds = tuple[type, float, float]


class InvalidRequest(Refused):
    """The request is not valid; `param` is the field that is wrong, `error_code` OpenAI's name of the error."""

    def __init__(self, param: str, message: str, *, error_code: ErrorCode = "invalid_value") -> None:
        super().__init__("invalid_input", f"{param}: {message}")
        self.param = param
        self.error_code = error_code


def text_of(value: object, where: str, *, least: int = 1, most: int = MAX_TEXT) -> str:
    """Return a text without what databases cannot store. Raises `InvalidRequest` if it is none, or out of bounds."""
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise InvalidRequest(where, f"must be a text of {least} to {most} characters.")
    return clean_text(value)


def flag_of(body: Mapping[str, Any], name: str) -> bool:
    """Return a field that is true or false; false if it is not given. Raises `InvalidRequest`."""
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise InvalidRequest(name, "must be true or false.")
    return bool(value)


def number_of(body: Mapping[str, Any], name: str, bounds: Bounds) -> float | None:
    """Return a field that is a number within its bounds; None if it is not given. Raises `InvalidRequest`."""
    kind, least, most = bounds
    value: float | None = body.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int | float if kind is float else int) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise InvalidRequest(name, f"must be a number from {least} to {most}.")
    return value


def function_tools(functions: Sequence[Mapping[str, Any]], where: Sequence[str]) -> tuple[Tool, ...]:
    """Return the tools that a caller runs itself.

    Args:
        functions: name, description and parameters of each.
        where: the field that each came in, for errors.

    Raises:
        InvalidRequest: one is not valid, or they are too many or too large.
    """
    if len(functions) > MAX_TOOLS:
        raise InvalidRequest("tools", f"must be a list of at most {MAX_TOOLS} tools.")
    try:
        check_sizes(one["parameters"] for one in functions if one.get("parameters"))
    except InvalidTool as exc:
        raise InvalidRequest("tools", str(exc)) from exc
    return tuple(map(_function_tool, functions, where))


def _function_tool(function: Mapping[str, Any], where: str) -> Tool:
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    try:
        return Tool.client_side(
            name=text_of(function.get("name"), f"{where}.name", most=64),
            description=text_of(function.get("description") or "", f"{where}.description", least=0),
            parameters=parameters if isinstance(parameters, dict) else {},
        )
    except InvalidTool as exc:
        raise InvalidRequest(where.removesuffix(".function"), str(exc)) from exc


def go_on_after(messages: Sequence[Message]) -> Message | None:
    """Return what asks the model to go on with its own last answer; None if something else is to be answered.

    OpenAI's APIs accept a history that ends with an answer, as clients send it whose user has chosen to continue. Not
    every provider does.
    """
    if not messages or messages[-1].role != "assistant" or messages[-1].tool_calls:
        return None
    return Message("user", GO_ON, id=uuid.uuid4().hex)


def check_turns(messages: Sequence[Message], where: Sequence[str], *, name: str) -> None:
    """Check that each tool call is answered at once.

    Args:
        where: the field that each message came in, for errors.
        name: the field that holds all of them.

    Raises:
        InvalidRequest: a call is not answered, or an answer has no call.
    """
    open_calls: set[str] = set()
    for message, place in zip(messages, where, strict=True):
        if message.role == "tool":
            if message.tool_call_id not in open_calls:
                raise InvalidRequest(place, "answers no tool call of the message before.")
            open_calls.remove(message.tool_call_id)
        elif open_calls:
            raise InvalidRequest(place, "comes before every tool call was answered by a tool message.")
        open_calls.update(call.id for call in message.tool_calls)
    if open_calls:
        raise InvalidRequest(name, "must end with a user's message, or with answers to all tool calls.")

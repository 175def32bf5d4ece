"""Reads what a server answered when the SDK cannot, which drops the answer and its words.

Without this, the call of a program would wait for its timeout.

What can be mended is mended: a missing version of JSON-RPC, half of a character, a number without end, a value that is
nested too deeply. Anything else ends the request as an error with the server's words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from assistant.toolkit.bounded_json import MAX_DEPTH, load_json

# In the data of an error: the server answered, and nobody knows with what result.
UNREADABLE = "tenant-assistant/unreadable"
MAX_LINE = 4 * 2**20
MAX_TEXT = 4_000
# What Python parses without exhausting its stack; a value below `MAX_DEPTH` is cut then.
_MAX_PARSED = 400
_MAX_DIGITS = 4_000
_ID = re.compile(r'"id"\s*:\s*(?:(\d{1,18})|"([^"\\]{1,100})")')
_MESSAGE = re.compile(r'"(?:jsonrpc|result|error)"\s*:')
_TOO_DEEP = "[nested too deeply]"


def read_unparsed(problem: Exception, awaited: Collection[RequestId]) -> JSONRPCMessage | None:
    """Return the answer to one of the awaited requests that a program's line was meant to be; None if it was none.

    A line without an id is the answer to the only request that is awaited. Lines that are no messages, such as those of
    a log, are nobody's answer.
    """
    return _meant(_line(problem), awaited)


def stray_line(problem: Exception) -> str:
    """Return a program's line that is no message of JSON-RPC; "" if the exception is about something else."""
    line = _line(problem)
    return line if isinstance(line, str) else ""


def mended_answer(text: str, request_id: RequestId) -> JSONRPCMessage | None:
    """Return the message that the body of an HTTP answer was meant to be; None if it is the answer as it is."""
    try:
        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError:
        meant = _meant(text, [request_id])
        return unreadable(request_id, text) if meant is None else meant
    if not isinstance(message, JSONRPCResponse | JSONRPCError):
        return unreadable(request_id, text)
    return None if message.id == request_id else message.model_copy(update={"id": request_id})


def mended_event(data: str, request_id: RequestId) -> str | None:
    """Return the message of an event of a request's own stream, mended if it must be; None if it is none."""
    try:
        jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValidationError:
        meant = _meant(data, [request_id])
        return None if meant is None else meant.model_dump_json(by_alias=True, exclude_unset=True)
    return data


def is_error(body: bytes) -> bool:
    """Return whether a body is an error of JSON-RPC, which the SDK reads whatever the status is."""
    try:
        return isinstance(jsonrpc_message_adapter.validate_json(body, by_name=False), JSONRPCError)
    except ValidationError:
        return False


def _meant(line: Any, awaited: Collection[RequestId]) -> JSONRPCMessage | None:
    if isinstance(line, str):
        if len(line) > MAX_LINE or not line.lstrip().startswith("{"):
            return None
        try:
            line = load_json(line, max_depth=_MAX_PARSED, parse_int=_number)
        except (ValueError, RecursionError):
            return _broken(str(line), awaited)
    if not isinstance(line, dict) or not {"result", "error"} & set(line):
        return None
    request_id = _request_id(line.get("id"), awaited)
    return None if request_id is None else _answer(_mended(line), request_id)


def _line(problem: Exception) -> Any:
    """Return the line, or what it was parsed to; None if the exception is about something else."""
    if not isinstance(problem, ValidationError):
        return None
    # A message that lacks a field is the input of that problem.
    whole = [
        error["input"] for error in problem.errors(include_url=False) if error["type"] in ("json_invalid", "missing")
    ]
    return next((one for one in whole if isinstance(one, str | dict)), None)


def _broken(line: str, awaited: Collection[RequestId]) -> JSONRPCMessage | None:
    """Return the answer that a line was meant to be which is no JSON."""
    if not _MESSAGE.search(line[:MAX_TEXT]) or '"method"' in line[:200]:
        return None
    named = _ID.search(line)
    sent = (int(named[1]) if named[1] else named[2]) if named else None
    request_id = _request_id(sent, awaited)
    return None if request_id is None else unreadable(request_id, line)


def _request_id(sent: Any, awaited: Collection[RequestId]) -> RequestId | None:
    if isinstance(sent, str) and sent.isascii() and sent.isdigit() and len(sent) < 18:
        sent = int(sent)
    if isinstance(sent, str | int) and not isinstance(sent, bool):
        return sent if sent in awaited else None
    return next(iter(awaited)) if len(awaited) == 1 else None


def _answer(message: dict[str, Any], request_id: RequestId) -> JSONRPCMessage:
    result = message.get("result")
    if isinstance(result, dict):
        return JSONRPCResponse(jsonrpc="2.0", id=request_id, result=result)
    error = message.get("error")
    if error is None:
        return unreadable(request_id, result)
    if isinstance(error, dict):
        code = error.get("code")
        said = error.get("message")
        if isinstance(code, int) and not isinstance(code, bool) and isinstance(said, str):
            return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=said))
        error = said or error
    return unreadable(request_id, error)


def unreadable(request_id: RequestId, answer: Any) -> JSONRPCError:
    """Return the error for an answer that is no message, with its words."""
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    error = ErrorData(code=0, message=text[:MAX_TEXT], data=UNREADABLE)
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def _number(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MAX_DIGITS else f"[a number of {len(digits)} digits]"


def _mended(value: Any, depth: int = 1) -> Any:
    """Return a JSON value without halves of characters, and cut where it is nested too deeply."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if not isinstance(value, dict | list):
        return value
    if depth > MAX_DEPTH:
        return _TOO_DEEP
    if isinstance(value, list):
        return [_mended(one, depth + 1) for one in value]
    return {_mended(key): _mended(one, depth + 1) for key, one in value.items()}

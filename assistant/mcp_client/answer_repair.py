"""Makes valid what an external server answers to `tools/list` and `tools/call`, before the SDK reads it.

The SDK validates an answer as a whole and drops it for one mistake: one malformed tool would take the server's other
tools away, and one malformed part the rest of a result, after the tool has done its work.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import Context
from types import TracebackType
from typing import Any, Self

from cachetools import LRUCache
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp.shared.message import SessionMessage
from mcp_types import (
    PROTOCOL_VERSION_META_KEY,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from mcp_types.methods import parse_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from assistant.mcp_client.definitions import MAX_NAME, MAX_TOOLS, visible
from assistant.mcp_client.unparsed_answers import read_unparsed, stray_line, unreadable
from assistant.toolkit.validation_errors import error_details

# A transport's streams of `SessionMessage`: what comes from the server, and what goes to it.
Streams = tuple[Any, Any]
# In a page's `_meta`: the tools that were left out, as pairs of their name and the reason.
LEFT_OUT = "tenant-assistant/left-out"
MAX_REASON = 300
_OPEN, _LIST, _CALL = "initialize", "tools/list", "tools/call"
# Requests of one session whose answers are awaited; older ones were given up.
_MAX_AWAITED = 1_000
# Parts of one result that are looked at; `results.MAX_BLOCKS` of them are read.
_MAX_PARTS = 1_000
# What a page of 2026-07-28 has besides its tools. Nothing of it is used here.
_PAGE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
# Keys of a result besides what it says.
_OF_RESULTS = frozenset({"resultType", "isError", "_meta"})
# Keys of a part that hold a file in base64.
_FILES = ("data", "blob")
_UNREADABLE = "[A part of the answer cannot be read: %s]"


class RepairedTransport(AbstractAsyncContextManager[Streams]):
    """A transport of the SDK whose answers to `tools/list` and `tools/call` are repaired.

    Args:
        on_stray: called with each line of a program that is no message; None if nobody wants to know.
    """

    def __init__(
        self, transport: AbstractAsyncContextManager[Streams], on_stray: Callable[[str], None] | None = None
    ) -> None:
        self._transport = transport
        self._on_stray = on_stray

    async def __aenter__(self) -> Streams:
        incoming, outgoing = await self._transport.__aenter__()
        # Method and protocol version of the requests that are not answered yet.
        awaited: LRUCache[RequestId, tuple[str, str]] = LRUCache(_MAX_AWAITED)
        return _Incoming(incoming, awaited, self._on_stray), _Outgoing(outgoing, awaited)

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._transport.__aexit__(exc_type, exc, traceback)


class _Outgoing:
    """What is sent to the server, with a note of each request whose answer is to be repaired."""

    def __init__(self, stream: Any, awaited: LRUCache[RequestId, tuple[str, str]]) -> None:
        self._stream = stream
        self._awaited = awaited

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        if isinstance(message, JSONRPCRequest) and message.method in (_OPEN, _LIST, _CALL):
            meta = (message.params or {}).get("_meta") or {}
            version = meta.get(PROTOCOL_VERSION_META_KEY, LATEST_HANDSHAKE_VERSION)
            self._awaited[coerce_request_id(message.id)] = (message.method, version)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._awaited.pop(coerce_request_id((message.params or {}).get("requestId", "")), None)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        result: bool | None = await self._stream.__aexit__(exc_type, exc_val, exc_tb)
        return result


class _Incoming:
    """What the server sends, repaired."""

    def __init__(
        self,
        stream: Any,
        awaited: LRUCache[RequestId, tuple[str, str]],
        on_stray: Callable[[str], None] | None,
    ) -> None:
        self._stream = stream
        self._awaited = awaited
        self._on_stray = on_stray

    @property
    def last_context(self) -> Context | None:
        """The sender's context, in which the SDK handles the message that was received last."""
        context: Context | None = getattr(self._stream, "last_context", None)
        return context

    async def receive(self) -> SessionMessage | Exception:
        return await self._read(await self._stream.receive())

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self._read(await self._stream.__anext__())

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        result: bool | None = await self._stream.__aexit__(exc_type, exc_val, exc_tb)
        return result

    async def _read(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, Exception):
            # In a thread, since a line may have megabytes.
            meant = await asyncio.to_thread(read_unparsed, item, list(self._awaited))
            if meant is None:
                if self._on_stray is not None and (line := stray_line(item)):
                    self._on_stray(line)
                return item
            item = SessionMessage(meant)
        return self._repaired(item)

    def _repaired(self, item: SessionMessage) -> SessionMessage:
        if not isinstance(item.message, JSONRPCResponse | JSONRPCError):
            return item
        message = item.message
        request = self._awaited.pop(coerce_request_id(message.id), None) if message.id is not None else None
        if request is None or isinstance(message, JSONRPCError):
            return item
        method, version = request
        if method == _OPEN:
            return item
        result = (repaired_page if method == _LIST else repaired_result)(message.result, version)
        if method == _CALL and not _is_valid(_CALL, version, result):
            return SessionMessage(unreadable(message.id, message.result), item.metadata)
        return SessionMessage(message.model_copy(update={"result": result}), item.metadata)


def repaired_page(page: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return a page of `tools/list` with those tools that are valid; the others are named in its `_meta`.

    A page without a list of tools stays as it is.
    """
    listed = page.get("tools")
    if not isinstance(listed, list):
        return dict(page)
    kept: list[Any] = []
    left_out: list[tuple[str, str]] = []
    for number, tool in enumerate(listed, start=1):
        if len(kept) > MAX_TOOLS or len(left_out) >= MAX_TOOLS:
            break
        if reason := _flaw(tool, version):
            name = tool.get("name") if isinstance(tool, dict) else None
            left_out.append((visible(name)[:MAX_NAME] if name and isinstance(name, str) else f"#{number}", reason))
        else:
            kept.append(tool)
    meta = page.get("_meta")
    cursor = page.get("nextCursor")
    return {
        **_PAGE,
        "tools": kept,
        # A number is what it is, though the protocol wants a text.
        **({"nextCursor": str(cursor)} if isinstance(cursor, str | int) and not isinstance(cursor, bool) else {}),
        "_meta": {**(meta if isinstance(meta, dict) else {}), LEFT_OUT: left_out},
    }


def repaired_result(result: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return a result of `tools/call` of which every part can be read; a part that cannot becomes a text about it.

    A result that is none, such as a request for the user's input, stays as it is. One that has its words elsewhere is
    read as these.
    """
    kind = result.get("resultType", "complete")
    has_answer = "content" in result or "structuredContent" in result
    parts = result.get("content")
    if not has_answer:
        if kind != "complete":
            return dict(result)
        elsewhere = {key: value for key, value in result.items() if key not in _OF_RESULTS}
        parts = json.dumps(elsewhere, ensure_ascii=False) if elsewhere else None
    elif _is_valid(_CALL, version, result):
        return dict(result)
    content = [_part(one, version) for one in _parts(parts)[:_MAX_PARTS]]
    is_error = result.get("isError")
    repaired = {
        "resultType": "complete",
        "content": content,
        # A server that says "true" means it.
        "isError": is_error is True or (isinstance(is_error, str) and is_error.lower() == "true"),
    }
    meta = result.get("_meta")
    if isinstance(meta, dict):
        repaired["_meta"] = meta
    structured = result.get("structuredContent")
    if structured is not None:
        repaired["structuredContent"] = structured
    if not _is_valid(_CALL, version, repaired):
        repaired.pop("structuredContent", None)
        if structured is not None and not content:
            content.append(_text(json.dumps(structured, ensure_ascii=False)))
    if not _is_valid(_CALL, version, repaired):
        repaired.pop("_meta", None)
    return repaired


def _parts(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [] if content is None else [content]


def _part(part: Any, version: str) -> dict[str, Any]:
    """Return a valid part of a result: the same, or the text that it has."""
    if isinstance(part, str):
        return _text(part)
    if isinstance(part, dict):
        if _is_valid(_CALL, version, {"resultType": "complete", "content": [part]}):
            return part
        if isinstance(part.get("text"), str):
            return _text(part["text"])
        part = {key: value for key, value in part.items() if key not in _FILES}
    return _text(_UNREADABLE % json.dumps(part, ensure_ascii=False))


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _flaw(tool: Any, version: str) -> str:
    """Return why a listed tool cannot be read, or ""."""
    try:
        parse_server_result(_LIST, version, {**_PAGE, "tools": [tool]})
    except ValidationError as exc:
        return visible(_first(exc))[:MAX_REASON]
    except RecursionError:
        return "it is nested too deeply"
    if version in MODERN_PROTOCOL_VERSIONS and (reason := find_invalid_x_mcp_header(tool["inputSchema"])):
        return visible(f"x-mcp-header: {reason}")[:MAX_REASON]
    return ""


def _first(exc: ValidationError) -> str:
    """Return the first problem, with its place in the tool."""
    problem = error_details(exc)[0]
    place = ".".join(str(step) for step in problem["loc"][2:])
    return f"{place}: {problem['msg']}" if place else problem["msg"]


def _is_valid(method: str, version: str, result: Mapping[str, Any]) -> bool:
    try:
        parse_server_result(method, version, result)
    except (ValidationError, RecursionError):
        return False
    return True

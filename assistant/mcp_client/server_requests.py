"""The callbacks of the MCP SDK for what a server logs and asks by itself, which call a client's `Handlers`."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from typing import get_args

import mcp_types as types
from mcp.client.session import ClientRequestContext, ListRootsFnT, LoggingFnT, SamplingFnT
from pydantic import FileUrl

from assistant.core.values.messages import Message
from assistant.mcp_client.definitions import visible, visible_within
from assistant.mcp_client.handlers import Handlers, LogLevel, SamplingRequest, ServerLog

logger = logging.getLogger(__name__)

LEVELS: tuple[LogLevel, ...] = get_args(LogLevel)
# Lines of a server's log that are handled in one second; more are dropped.
MAX_LOGS = 100
MAX_LOG = 20_000
MAX_MESSAGES = 100
# Characters of the messages and the system prompt together.
MAX_SAMPLED = 100_000
MAX_TOKENS = 8_192
REFUSED = types.ErrorData(code=types.INVALID_REQUEST, message="The client has refused this.")
NameOf = Callable[[], str]


def log_callback(handlers: Handlers, server: NameOf) -> LoggingFnT | None:
    """Return what the SDK calls for a line of a server's log; None if nobody reads it."""
    handle = handlers.log
    if handle is None:
        return None
    second = 0
    count = 0

    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        nonlocal second, count
        # Servers before 2026-07-28 may not know of levels.
        if LEVELS.index(params.level) < LEVELS.index(handlers.log_level):
            return
        now = int(asyncio.get_running_loop().time())
        count = count + 1 if now == second else 1
        second = now
        if count > MAX_LOGS:
            return
        await handle(ServerLog(server(), params.level, _bounded(params.data), visible(params.logger or "")[:200]))

    return on_log


def _bounded(data: object) -> object:
    text = visible(data) if isinstance(data, str) else json.dumps(visible_within(data), ensure_ascii=False)
    if len(text) > MAX_LOG:
        return text[:MAX_LOG]
    return text if isinstance(data, str) else visible_within(data)


def roots_callback(handlers: Handlers) -> ListRootsFnT | None:
    """Return what the SDK calls when a server asks for roots; None if there are none."""
    handle = handlers.roots
    if handle is None:
        return None

    async def on_roots(context: ClientRequestContext) -> types.ListRootsResult | types.ErrorData:
        try:
            return types.ListRootsResult(roots=[types.Root(uri=FileUrl(uri)) for uri in await handle()])
        except Exception:
            logger.exception("The roots for an MCP server cannot be told")
            return REFUSED

    return on_roots


def sampling_callback(handlers: Handlers, server: NameOf) -> SamplingFnT | None:
    """Return what the SDK calls when a server asks for a model's answer; None if it may not."""
    handle = handlers.sample
    if handle is None:
        return None

    async def on_sampling(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        messages = _texts(params.messages)
        system = visible(params.system_prompt or "")
        if messages is None or sum(len(one.content) for one in messages) + len(system) > MAX_SAMPLED:
            return REFUSED
        try:
            text = await handle(SamplingRequest(server(), messages, system, min(params.max_tokens, MAX_TOKENS)))
        except Exception:
            logger.exception("An MCP server's request for a model's answer has failed")
            return REFUSED
        if text is None:
            return REFUSED
        content = types.TextContent(type="text", text=text)
        return types.CreateMessageResult(role="assistant", content=content, model="client", stop_reason="endTurn")

    return on_sampling


def _texts(sampled: Sequence[types.SamplingMessage]) -> tuple[Message, ...] | None:
    """Return the messages; None if they are too many, or have anything but text."""
    messages: list[Message] = []
    for message in sampled[: MAX_MESSAGES + 1]:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        texts = [visible(block.text) for block in blocks if isinstance(block, types.TextContent)]
        if len(texts) < len(blocks) or len(messages) == MAX_MESSAGES:
            return None
        messages.append(Message(message.role, "\n".join(texts), sources=("an external server",)))
    return tuple(messages)

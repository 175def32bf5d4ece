"""What a session of a client older than 2026-07-28 has set: its log level, and the resources that it watches."""

from __future__ import annotations

from dataclasses import dataclass, field

from cachetools import LRUCache
from mcp_types import EmptyResult, LoggingLevel, SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams

from assistant.mcp.server.caller import Context, member_of, principal

HEADER = "mcp-session-id"
MAX_SESSIONS = 2000
MAX_WATCHED = 100


@dataclass(slots=True)
class SessionMemory:
    """The settings of one session."""

    level: LoggingLevel = "info"
    watched: set[str] = field(default_factory=set)


_sessions: LRUCache[tuple[str, str], SessionMemory] = LRUCache(MAX_SESSIONS)


def session_memory(owner: str, session_id: str) -> SessionMemory:
    """The memory of a session of that principal's; the least used are forgotten."""
    return _sessions.setdefault((owner, session_id), SessionMemory())


def memory_of(context: Context) -> SessionMemory | None:
    """The memory of the session that a request came on; None without one."""
    session_id = context.request.headers.get(HEADER) if context.request is not None else None
    return session_memory(principal(member_of(context)), session_id) if session_id else None


async def set_level(context: Context, params: SetLevelRequestParams) -> EmptyResult:
    """From which level on the session wants log messages."""
    if memory := memory_of(context):
        memory.level = params.level
    return EmptyResult()


async def watch(context: Context, params: SubscribeRequestParams) -> EmptyResult:
    """Tell the session's stream when this resource changes."""
    memory = memory_of(context)
    if memory is not None and len(memory.watched) < MAX_WATCHED:
        memory.watched.add(str(params.uri))
    return EmptyResult()


async def unwatch(context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
    """Tell it no longer."""
    if memory := memory_of(context):
        memory.watched.discard(str(params.uri))
    return EmptyResult()

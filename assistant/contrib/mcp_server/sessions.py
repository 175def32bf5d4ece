"""The settings of older clients' sessions: log level and subscribed resources."""

from __future__ import annotations

from dataclasses import dataclass, field

from cachetools import LRUCache
from mcp_types import EmptyResult, LoggingLevel, SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams

from assistant.contrib.mcp_server.caller import Context, member_of, principal

HEADER = "mcp-session-id"
MAX_SESSIONS = 2000
MAX_WATCHED = 100


@dataclass(slots=True)
class SessionSettings:
    """The settings of one session."""

    level: LoggingLevel = "info"
    watched: set[str] = field(default_factory=set)


_sessions: LRUCache[tuple[str, str], SessionSettings] = LRUCache(MAX_SESSIONS)


def session_settings(owner: str, session_id: str) -> SessionSettings:
    """Return the settings of a session of `owner`, a `principal`. Only the most recently used are kept."""
    return _sessions.setdefault((owner, session_id), SessionSettings())


def settings_of(context: Context) -> SessionSettings | None:
    """Return the settings of the session that a request came on, or None if it has none."""
    session_id = context.request.headers.get(HEADER) if context.request is not None else None
    return session_settings(principal(member_of(context)), session_id) if session_id else None


async def set_level(context: Context, params: SetLevelRequestParams) -> EmptyResult:
    """Set the lowest level of log messages that the session gets."""
    if settings := settings_of(context):
        settings.level = params.level
    return EmptyResult()


async def watch(context: Context, params: SubscribeRequestParams) -> EmptyResult:
    """Send the session's stream changes of this resource."""
    settings = settings_of(context)
    if settings is not None and len(settings.watched) < MAX_WATCHED:
        settings.watched.add(str(params.uri))
    return EmptyResult()


async def unwatch(context: Context, params: UnsubscribeRequestParams) -> EmptyResult:
    """Stop sending changes of this resource."""
    if settings := settings_of(context):
        settings.watched.discard(str(params.uri))
    return EmptyResult()

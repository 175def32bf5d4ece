"""Notices about a conversation that optional apps add: events for clients that show it, besides those of its runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from assistant.core.values.events import Custom
    from assistant.models import Conversation
    from assistant.services.eventlog.log import ThreadLog

    Reader = Callable[[Conversation], Custom | None]
    Watch = Callable[[int, ThreadLog], tuple[bool, Callable[[], None]]]

_readers: dict[str, str] = {}
_watches: dict[str, str] = {}
# Whether clients are told after each snapshot, which takes the place of all that they show.
ADDED: dict[str, bool] = {}


def add_notice(what: str, *, read: str, after_snapshot: bool = False, watch: str = "") -> None:
    """Let clients with rendered blocks be told of a change, which `EventLog.publish_change` announces.

    Args:
        what: a short name without spaces.
        read: the dotted name of the function that returns the event, or None if there is nothing to tell. It may query.
        after_snapshot: whether they are told after each snapshot too.
        watch: the dotted name of a function of a tenant's primary key and the log of a thread that is followed from now
            on. It returns whether the client is told at once, and a function to call when it follows no more.
    """
    _readers[what] = read
    ADDED[what] = after_snapshot
    if watch:
        _watches[what] = watch


def added_notice(what: str, conversation: Conversation) -> Custom | None:
    """Return the event of a notice that an app has added."""
    return cast("Reader", import_string(_readers[what]))(conversation)


def watch_added(tenant_id: int, log: ThreadLog) -> tuple[set[str], list[Callable[[], None]]]:
    """Return the notices that a client is told at once who follows a thread now, and what to call when it stops."""
    told = {what for what, after_snapshot in ADDED.items() if after_snapshot}
    stops = []
    for what, name in _watches.items():
        is_told, stop = cast("Watch", import_string(name))(tenant_id, log)
        stops.append(stop)
        if is_told:
            told.add(what)
    return told, stops

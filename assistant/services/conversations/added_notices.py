"""Notices about a conversation that optional apps add: events for clients that show it, besides those of its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from collections.abc import Callable

    from assistant.core.values.events import Custom
    from assistant.models import Conversation

    Reader = Callable[[Conversation], Custom | None]

_readers: dict[str, str] = {}
# Whether clients are told after each snapshot, which takes the place of all that they show.
ADDED: dict[str, bool] = {}


def add_notice(what: str, *, read: str, after_snapshot: bool) -> None:
    """Let clients with rendered blocks be told of a change, which `EventLog.publish_change` announces.

    Args:
        what: a short name without spaces.
        read: the dotted name of the function that returns the event, or None if there is nothing to tell. It may query.
        after_snapshot: whether they are told after each snapshot too.
    """
    _readers[what] = read
    ADDED[what] = after_snapshot


def added_notice(what: str, conversation: Conversation) -> Custom | None:
    """Return the event of a notice that an app has added."""
    return cast("Reader", import_string(_readers[what]))(conversation)

"""The texts of conversations that a look at a row of a list shows, where they may be read; which is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext

from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, ReadsChats
from assistant.models import Message

# Characters of a text.
MAX_TEXT = 4_000


def texts(request: HttpRequest, page: ReadsChats, row: Any, *found: tuple[str, str]) -> Sequence[tuple[str, str]]:
    """Return texts with their titles, without empty ones; where a row's may not be read, a sentence in their place."""
    if page.refused(request, row) is not None:
        return [(gettext("Texts"), str(HIDDEN))]
    return [(title, text[:MAX_TEXT]) for title, text in found if text]


def last_exchange(
    request: HttpRequest, page: ReadsChats, row: Any, messages: QuerySet[Message], *after: tuple[str, str]
) -> Sequence[tuple[str, str]]:
    """Return the last question and the last answer of some messages of a row, and other texts of it."""
    newest = list(messages.order_by("-position").exclude(content="")[:10])
    said = {role: next((one.content for one in newest if one.role == role), "") for role in ("user", "assistant")}
    exchange = ((gettext("Last question"), said["user"]), (gettext("Last answer"), said["assistant"]))
    return texts(request, page, row, *exchange, *after)

"""What the page before a deletion lists, without texts of conversations where tenants restrict their reading."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.text import capfirst

from assistant.admin.base.visible_tenants import restricts_reading
from assistant.models import Conversation, Feedback, Message

_TEXTS = (Conversation, Message, Feedback)


def readable_tree(request: HttpRequest, tree: list[Any]) -> list[Any]:
    """Return Django's nested list of what would be deleted; its counts still name what is left out here."""
    return _without_texts(tree) if restricts_reading(request) else tree


def _without_texts(tree: list[Any]) -> list[Any]:
    kept: list[Any] = []
    is_left_out = False
    beginnings = tuple(f"{capfirst(model._meta.verbose_name)}: " for model in _TEXTS)
    for item in tree:
        if not isinstance(item, list):
            is_left_out = str(item).startswith(beginnings)
            kept += [] if is_left_out else [item]
        elif not is_left_out:  # the nested list of the item before it
            kept.append(_without_texts(item))
    return kept

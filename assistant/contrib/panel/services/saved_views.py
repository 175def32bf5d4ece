"""Views of lists that people save for themselves."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from assistant.contrib.panel.models import MAX_NAME, MAX_QUERY, MAX_VIEWS, SavedView


class NotSaved(Exception):
    """A view was not saved; the message says why, for people."""


def views_of(*, user: Any, page: str) -> list[SavedView]:
    """Return what somebody has saved of a list, by name."""
    return list(SavedView.objects.filter(user=user, page=page))


@transaction.atomic
def save_view(*, user: Any, page: str, name: str, query: str) -> SavedView:
    """Save a view in place of the one of the same name, if there is one.

    Raises:
        NotSaved: the name is empty or too long, the address too long, or there are `MAX_VIEWS` already.
    """
    name = " ".join(name.replace("\x00", "").split())
    if not name or len(name) > MAX_NAME:
        raise NotSaved(gettext("A view needs a name of at most %(most)d characters.") % {"most": MAX_NAME})
    if len(query) > MAX_QUERY:
        raise NotSaved(gettext("This view has too many filters and columns to be saved."))
    others = SavedView.objects.filter(user=user, page=page).exclude(name=name)
    if others.count() >= MAX_VIEWS:
        raise NotSaved(gettext("A list has at most %(most)d views. Forget one first.") % {"most": MAX_VIEWS})
    saved, _made = SavedView.objects.update_or_create(user=user, page=page, name=name, defaults={"query": query})
    return saved


def forget_view(*, user: Any, page: str, name: str) -> None:
    """Delete a view, if it is there."""
    SavedView.objects.filter(user=user, page=page, name=name).delete()

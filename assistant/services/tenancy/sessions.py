"""Sessions of members: opens and ends them."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY, get_user
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.models import Session
from django.http.request import HttpRequest
from django.utils import timezone

from assistant.services.db.fast_paths.value_lists import any_of


def open_session(key: str | None) -> SessionBase:
    """Return the session with a key; an empty one if there is none. It is read when it is used."""
    session: SessionBase = import_module(settings.SESSION_ENGINE).SessionStore(key)
    return session


def user_of(session: SessionBase) -> Any:
    """Return the user of a session, by Django's own checks: a known backend, and an unchanged password."""
    request = HttpRequest()
    request.session = session
    return get_user(request)


def live_sessions(keys: Collection[str]) -> set[str]:
    """Return those of the keys whose sessions have not ended. Of sessions in the database it runs one query."""
    store = import_module(settings.SESSION_ENGINE).SessionStore
    if not issubclass(store, DatabaseStore):
        return {key for key in keys if SESSION_KEY in store(key)}
    rows = store.get_model_class().objects.filter(session_key__in=any_of(keys), expire_date__gt=timezone.now())
    return set(rows.values_list("session_key", flat=True))


def end_sessions(user: Any) -> None:
    """Sign a user out everywhere. Reads all sessions, because only their content names the user."""
    sessions = [row.pk for row in Session.objects.iterator() if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=sessions).delete()

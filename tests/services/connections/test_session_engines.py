"""Connections of sessions stay open while these last, wherever the project stores them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth import HASH_SESSION_KEY
from django.test import Client
from pytest_django.fixtures import Settings

from assistant.services.connections.open_connections import OpenConnection, without_access
from assistant.services.tenancy.members import find_member
from tests.base import Cast

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("engine", ["db", "cached_db", "cache", "file", "signed_cookies"])
def test_a_connection_ends_with_its_session(engine: str, cast: Cast, settings: Settings, tmp_path: Path) -> None:
    settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{engine}"
    settings.SESSION_FILE_PATH = str(tmp_path)
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": engine}}
    client = Client()
    client.force_login(cast.alice)
    session = client.session
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    connection = OpenConnection(
        member, lambda: None, session_key=session.session_key or "", session_hash=session[HASH_SESSION_KEY]
    )
    assert without_access([connection]) == []
    if engine == "signed_cookies":
        settings.SECRET_KEY = "another, with which the cookie counts no more"
    else:
        client.logout()
    assert without_access([connection]) == [connection]

"""Checks of open connections: those of one session are closed together, and a check costs a few queries."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

import pytest
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.models import Session
from django.db import InterfaceError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.services.connections import open_connections
from assistant.services.connections.open_connections import OpenConnection, without_access
from assistant.services.tenancy.members import find_member
from tests.base import Cast


def connections(user: AbstractBaseUser, tenant: str, count: int) -> list[OpenConnection]:
    """Connections of one browser session."""
    client = Client()
    client.force_login(user)
    key, session_hash = client.session.session_key or "", client.session[HASH_SESSION_KEY]
    member = find_member(user_id=user.pk, tenant_slug=tenant)
    assert member is not None
    return [OpenConnection(member, lambda: None, key, session_hash) for _ in range(count)]


@pytest.fixture
def open_tabs(cast: Cast) -> dict[str, list[OpenConnection]]:
    return {
        "alice": connections(cast.alice, "acme", 3),
        "alice elsewhere": connections(cast.alice, "acme", 2),
        "mallory": connections(cast.mallory, "globex", 2),
    }


def test_only_connections_that_lost_access_are_closed(cast: Cast, open_tabs: dict[str, list[OpenConnection]]) -> None:
    alice, elsewhere, mallory = (tabs[0] for tabs in open_tabs.values())
    present = [alice, elsewhere, mallory]
    assert without_access(present) == []
    Session.objects.filter(session_key=alice.session_key).delete()
    assert without_access(present) == [alice]
    cast.mallory.assistant_memberships.all().delete()
    assert without_access(present) == [alice, mallory]
    cast.alice.set_password("another")
    cast.alice.save()
    assert without_access(present) == present


def test_a_session_of_an_old_password_is_closed_and_a_valid_one_stays(
    open_tabs: dict[str, list[OpenConnection]],
) -> None:
    good = open_tabs["alice"][0]
    stale = replace(good, session_hash="of an older password")
    assert without_access([good, stale]) == [stale]


def test_the_number_of_queries_does_not_grow_with_connections(open_tabs: dict[str, list[OpenConnection]]) -> None:
    def cost(present: list[OpenConnection]) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert without_access(present) == []
        return len(queries)

    assert cost(open_tabs["alice"][:1]) == cost([tabs[0] for tabs in open_tabs.values()])


async def test_connections_of_one_session_are_checked_once_and_closed_together(
    open_tabs: dict[str, list[OpenConnection]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[OpenConnection]] = []
    left: list[str] = []
    tabs = {
        name: [replace(tab, close=partial(left.append, name)) for tab in several] for name, several in open_tabs.items()
    }

    def refuse_one_tab(present: list[OpenConnection]) -> list[OpenConnection]:
        asked.append(present)
        return [one for one in present if one in tabs["alice"]]

    monkeypatch.setattr(open_connections, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(open_connections, "without_access", refuse_one_tab)
    for tab in (tab for several in tabs.values() for tab in several):
        open_connections.register(tab)
    before = open_connections.count_open()
    async with asyncio.timeout(20):
        while len(asked) < 2:
            await asyncio.sleep(0.01)
    assert [len(present) for present in asked[:2]] == [3, 2]
    assert left == ["alice"] * 3
    assert open_connections.count_open() == before - 3
    for tab in (*tabs["alice elsewhere"], *tabs["mallory"]):
        open_connections.unregister(tab)
    assert open_connections.count_open() == before - 7


async def test_checks_continue_after_one_failed(
    open_tabs: dict[str, list[OpenConnection]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[object] = []
    left = asyncio.Event()
    alice = replace(open_tabs["alice"][0], close=left.set)

    def look(present: list[OpenConnection]) -> list[OpenConnection]:
        looks.append(present)
        if len(looks) == 1:
            raise InterfaceError("the connection is closed")
        return present

    monkeypatch.setattr(open_connections, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(open_connections, "without_access", look)
    open_connections.register(alice)
    await asyncio.wait_for(left.wait(), 10)
    open_connections.unregister(alice)


def test_a_custom_user_model_may_compute_the_session_hash(
    cast: Cast, open_tabs: dict[str, list[OpenConnection]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(cast.alice), "get_session_auth_hash", lambda user: f"{user.username}'s own")
    alice, mallory = open_tabs["alice"][0], open_tabs["mallory"][0]
    assert without_access([alice, replace(mallory, session_hash="mallory's own")]) == [alice]

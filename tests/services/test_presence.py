"""Who is still welcome: all connections by one right stay or go together, and looking at them costs next to nothing."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.services.members import find_member
from assistant.services.presence import Presence, unwelcome
from tests.base import Cast

# Calls of functions for one more connection by a right that is looked at already.
CALLS_PER_CONNECTION = 4


def connections(user: AbstractBaseUser, tenant: str, count: int) -> list[Presence]:
    """So many connections of one browser in which somebody is signed in."""
    client = Client()
    client.force_login(user)
    key, session_hash = client.session.session_key or "", client.session[HASH_SESSION_KEY]
    member = find_member(user_id=user.pk, tenant_slug=tenant)
    assert member is not None
    return [Presence(member, lambda: None, key, session_hash) for _ in range(count)]


@pytest.fixture
def open_tabs(cast: Cast) -> dict[str, list[Presence]]:
    return {
        "alice": connections(cast.alice, "acme", 3),
        "alice elsewhere": connections(cast.alice, "acme", 2),
        "mallory": connections(cast.mallory, "globex", 2),
    }


def test_all_of_a_session_go_and_no_others(cast: Cast, open_tabs: dict[str, list[Presence]]) -> None:
    present = [one for tabs in open_tabs.values() for one in tabs]
    assert unwelcome(present) == []
    Session.objects.filter(session_key=open_tabs["alice"][0].session_key).delete()
    assert set(unwelcome(present)) == set(open_tabs["alice"])
    cast.mallory.memberships.all().delete()
    assert set(unwelcome(present)) == {*open_tabs["alice"], *open_tabs["mallory"]}
    cast.alice.set_password("another")
    cast.alice.save()
    assert set(unwelcome(present)) == set(present)


def test_a_hash_of_another_password_is_not_welcome_beside_a_good_one(open_tabs: dict[str, list[Presence]]) -> None:
    good, stale = open_tabs["alice"][:2]
    stale.session_hash = "of an older password"
    assert unwelcome([good, stale]) == [stale]


def test_more_connections_cost_no_queries_and_next_to_no_work(cast: Cast) -> None:
    def cost(count: int) -> tuple[int, int]:
        present = connections(cast.alice, "acme", count)
        calls = 0

        def note(frame: FrameType, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event == "call"

        with CaptureQueriesContext(connection) as queries:
            sys.setprofile(note)
            try:
                assert unwelcome(present) == []
            finally:
                sys.setprofile(None)
        return len(queries), calls

    cost(1)
    (few_queries, few), (many_queries, many) = cost(10), cost(1010)
    assert many_queries == few_queries
    assert (many - few) / 1000 <= CALLS_PER_CONNECTION

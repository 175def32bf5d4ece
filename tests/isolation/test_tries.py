"""Requests at random, through every door, by everybody whose rows they are not: nothing is seen, nothing is changed.

ISOLATION_TRIES says how many; `make resilience` asks for 10,000 on each database.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from django.conf import settings
from django.core import serializers
from django.test import override_settings

from assistant.models import Conversation, Feedback, Membership, Message, Provider, Run, Tenant, ToolCall
from tests.base import Cast
from tests.isolation.planting import plant, rows_of
from tests.isolation.tries import DOORS, Tries, callers, door_of, make_personal

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(1800)]

TRIES = int(os.environ.get("ISOLATION_TRIES", "300"))
SEED = 20261121
# Addresses that leak on purpose are given here by whoever wants to see them found.
URLCONF = os.environ.get("ISOLATION_URLCONF", settings.ROOT_URLCONF)


@pytest.fixture
def rows(cast: Cast, provider: Provider) -> Any:
    planted = plant(cast)
    make_personal(planted)
    # Whoever may talk to an assistant gets an answer from the fake provider, not from the planted address.
    Tenant.objects.filter(pk__in=(cast.acme.pk, cast.globex.pk)).update(default_provider=provider)
    return planted


def personal_rows(cast: Cast) -> str:
    """What is Alice's alone, as text."""
    own = [
        Conversation.objects.filter(user=cast.alice),
        Message.objects.filter(conversation__user=cast.alice),
        Run.objects.filter(user=cast.alice),
        ToolCall.objects.filter(run__user=cast.alice),
        Feedback.objects.filter(user=cast.alice),
        Membership.objects.filter(user=cast.alice),
    ]
    return str(serializers.serialize("json", [row for rows in own for row in rows.order_by("pk")]))


def leaks(tries: Tries, cast: Cast, count: int) -> list[str]:
    """What was seen by somebody who must not see it."""
    everybody = callers(cast)
    found = []
    for number in range(count):
        caller = everybody[number % len(everybody)]
        answered = tries.one(caller)
        assert answered.status < 500 or "/readyz" in answered.door, f"{caller.name}: {answered}"
        found += [f"{caller.name}: {answered}" for canary in caller.canaries if canary in answered.body]
    return found


def test_every_address_belongs_to_a_door(cast: Cast, rows: Any) -> None:
    tries = Tries(cast, rows, SEED)
    assert [path for path in tries.paths if door_of(path) is None] == []
    assert {door_of(path) for path in tries.paths} >= set(DOORS) - {"pages"}


def test_requests_at_random_show_and_change_nothing(cast: Cast, rows: Any) -> None:
    before = personal_rows(cast)
    with override_settings(ROOT_URLCONF=URLCONF):
        tries = Tries(cast, rows, SEED)
        found = leaks(tries, cast, TRIES)
    doors = ", ".join(f"{door} {count}" for door, count in sorted(tries.doors.items()))
    is_changed = personal_rows(cast) != before
    print(f"\nisolation: {tries.doors.total()} tries, {len(found) + is_changed} leaks; {doors}")
    assert found == [] and not is_changed


def test_no_write_at_random_reaches_another_tenant(cast: Cast, rows: Any) -> None:
    tries, everybody = Tries(cast, rows, SEED + 1), callers(cast)
    rivals = [one for one in everybody if "colleague" not in one.name]
    before = rows_of(cast.acme)
    for number in range(TRIES // 2):
        tries.one(rivals[number % len(rivals)])
    assert rows_of(cast.acme) == before


def test_a_planted_leak_is_found_by_requests_at_random(cast: Cast, rows: Any) -> None:
    with override_settings(ROOT_URLCONF="tests.isolation.leaky_urls"):
        tries = Tries(cast, rows, SEED)
        assert any("/leak/read/" in path for path in tries.paths)
        assert any("/leak/read/" in one for one in leaks(tries, cast, TRIES))


def test_an_unlisted_address_is_noticed(cast: Cast, rows: Any) -> None:
    with override_settings(ROOT_URLCONF="tests.isolation.leaky_urls"):
        assert [path for path in Tries(cast, rows, SEED).paths if door_of(path) is None]

"""Alarms in the REST API: a member lists, ends and snoozes their own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant.contrib.timed.models import Alarm
from tests.api.calling import Caller
from tests.base import Cast


def alarm(tenant: Any, user: Any, number: int, state: str = "ringing") -> Alarm:
    now = timezone.now()
    return Alarm.objects.create(
        tenant=tenant, user=user, number=number, at=now, rang_at=now, rings=1, state=state, label=f"of {user}"
    )


def listed(caller: Caller, **query: str) -> list[tuple[int, str]]:
    return [(one["number"], one["state"]) for one in caller.get("alarms/", **query).json()]


@pytest.fixture
def alarms(cast: Cast) -> None:
    alarm(cast.acme, cast.alice, 1)
    alarm(cast.acme, cast.alice, 2, "set")
    alarm(cast.acme, cast.amy, 1)
    alarm(cast.globex, cast.mallory, 1)


def test_a_member_lists_their_own(cast: Cast, alarms: None) -> None:
    alice = Caller(cast.acme, cast.alice)
    assert listed(alice) == [(2, "set"), (1, "ringing")]
    assert listed(alice, state="ringing") == [(1, "ringing")]
    assert alice.get("alarms/", state="loud").status_code == 400
    assert listed(Caller(cast.globex, cast.mallory)) == [(1, "ringing")]


def test_a_member_ends_and_snoozes_their_own_alone(cast: Cast, alarms: None) -> None:
    alice = Caller(cast.acme, cast.alice)
    snoozed = alice("post", "alarms/1/snooze/", {"minutes": 30}).json()
    assert snoozed["state"] == "set"
    assert alice("post", "alarms/2/done/").json()["state"] == "done"
    assert alice("post", "alarms/3/done/").status_code == 404
    assert alice("post", "alarms/1/snooze/", {"minutes": 0}).status_code == 400
    states = Alarm.objects.exclude(user=cast.alice).values_list("state", flat=True)
    assert set(states) == {"ringing"}
    assert Alarm.objects.get(user=cast.alice, number=1).at > timezone.now() + timedelta(minutes=29)


def test_another_tenants_address_is_not_found(cast: Cast, alarms: None) -> None:
    mallory = Caller(cast.globex, cast.mallory)
    assert mallory.get("/api/v1/tenants/acme/alarms/").status_code == 404
    assert mallory("post", "/api/v1/tenants/acme/alarms/1/done/").status_code == 404

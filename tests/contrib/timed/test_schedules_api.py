"""Schedules in the REST API, on the member's page and in the admin: a member's own, and no one else's."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.test import Client
from django.utils import timezone

from assistant.contrib.timed.models import Schedule, ScheduleRun
from assistant.models import AuditEntry
from tests.api.calling import Caller
from tests.base import Cast

GIVEN = {"assistant": "support", "name": "Open orders", "prompt": "Which orders are open?"}


def weekly(**fields: Any) -> dict[str, Any]:
    ends_at = (timezone.now() + timedelta(days=60)).isoformat()
    return {**GIVEN, "cron": "0 9 * * 1", "ends_at": ends_at, "budget": 1000, **fields}


def made(caller: Caller, **fields: Any) -> int:
    answer = caller("post", "schedules/", weekly(**fields))
    assert answer.status_code == 201, answer.content
    return int(answer.json()["id"])


def test_a_member_makes_reads_pauses_and_deletes_their_own(cast: Cast) -> None:
    alice = Caller(cast.acme, cast.alice)
    pk = made(alice)
    now = timezone.now()
    ScheduleRun.objects.create(tenant=cast.acme, schedule_id=pk, due_at=now, state="failed", problem="No.")
    found = alice.get(f"schedules/{pk}/").json()
    assert (found["timezone"], found["state"], found["runs"][0]["problem"]) == ("Europe/Vienna", "on", "No.")
    assert alice("patch", f"schedules/{pk}/", {"is_paused": True}).json()["state"] == "paused"
    assert [one["id"] for one in alice.get("schedules/").json()] == [pk]
    assert alice("delete", f"schedules/{pk}/").status_code == 204
    assert not Schedule.objects.exists()
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert [one for one in actions if one.startswith("schedule")] == [
        "schedule.create",
        "schedule.pause",
        "schedule.delete",
    ]


def test_another_member_and_another_tenant_find_nothing(cast: Cast) -> None:
    pk = made(Caller(cast.acme, cast.alice))
    for stranger in (Caller(cast.acme, cast.amy), Caller(cast.globex, cast.mallory)):
        assert stranger.get("schedules/").json() == []
        for method in ("get", "patch", "delete"):
            body = {"is_paused": True} if method == "patch" else None
            assert stranger(method, f"schedules/{pk}/", body).status_code == 404
    assert Schedule.objects.get().state == "on"


def test_what_is_wrong_is_said_and_the_same_key_makes_one(cast: Cast) -> None:
    alice = Caller(cast.acme, cast.alice)
    refused = alice("post", "schedules/", weekly(budget=None))
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    assert "budget" in refused.json()["message"]
    assert alice("post", "schedules/", weekly(assistant="rival")).status_code == 400
    same = [alice("post", "schedules/", {**weekly(), "ends_at": "2030-01-01T00:00:00Z"}).status_code for _ in range(2)]
    assert same == [400, 400]
    body = weekly()
    twice = [alice("post", "schedules/", body, Idempotency_Key="k").json()["id"] for _ in range(2)]
    assert twice[0] == twice[1] and Schedule.objects.count() == 1


def test_the_members_page_shows_their_own_and_changes_them(cast: Cast) -> None:
    pk = made(Caller(cast.acme, cast.alice), name="<b>Orders</b>")
    alice, mallory = Client(), Client()
    alice.force_login(cast.alice)
    mallory.force_login(cast.mallory)
    page = alice.get("/t/acme/schedules/").content.decode()
    assert "&lt;b&gt;Orders&lt;/b&gt;" in page and "Europe/Vienna" in page
    address = f"/t/acme/schedules/{pk}/"
    assert alice.post(address, {"do": "pause"}).status_code == 302
    assert Schedule.objects.get().state == "paused"
    assert "Orders" not in mallory.get("/t/globex/schedules/").content.decode()
    for place in (address, f"/t/globex/schedules/{pk}/"):
        assert mallory.post(place, {"do": "delete"}).status_code == 404
    assert Client(enforce_csrf_checks=True).post(address, {"do": "delete"}).status_code in (302, 403)
    assert alice.post(address, {"do": "explode"}).status_code == 404
    alice.post(address, {"do": "delete"})
    assert not Schedule.objects.exists()


def test_admins_see_and_pause_their_tenants_schedules_and_add_their_own(cast: Cast) -> None:
    pk = made(Caller(cast.acme, cast.alice))
    amy, greta = Client(), Client()
    amy.force_login(cast.amy)
    greta.force_login(cast.greta)
    listing = "/admin/assistant_timed/schedule/"
    assert "Open orders" in amy.get(listing).content.decode()
    assert "Open orders" in amy.get(f"{listing}{pk}/change/").content.decode()
    assert "Open orders" not in greta.get(listing).content.decode()
    for client in (greta, amy):
        client.post(listing, {"action": "pause", "_selected_action": [pk]})
        assert Schedule.objects.get().state == ("paused" if client is amy else "on")
    ends_at = timezone.now() + timedelta(days=9)
    form = {
        "tenant": cast.acme.pk, "assistant": cast.support.pk, "name": "Mine", "prompt": "How many?", "at_0": "",
        "cron": "0 9 * * *", "at_1": "", "timezone": "", "ends_at_0": f"{ends_at:%Y-%m-%d}", "ends_at_1": "12:00:00",
        "budget": 500, "missed": "skip", "delivery": "conversation",
    }  # fmt: skip
    answer = amy.post(f"{listing}add/", {**form, "budget": ""})
    assert answer.status_code == 200 and "budget" in answer.content.decode()
    assert amy.post(f"{listing}add/", form).status_code == 302
    row = Schedule.objects.get(name="Mine")
    assert (row.user, row.timezone, row.missed) == (cast.amy, "Europe/Vienna", "skip")
    assert greta.post(f"{listing}add/", form).status_code == 200
    greta.post(f"{listing}{row.pk}/delete/", {"post": "yes"})
    assert Schedule.objects.filter(pk=row.pk).exists()

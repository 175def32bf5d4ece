"""A key that has leaked is replaced in three clicks, and its page says what it was used for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.panel.admin.base.show_secret_once import new_nonce
from assistant.models import ApiKey, AuditEntry, CustomRole, Membership, Run
from assistant.services.tenancy.members import create_api_key, member_by_key
from tests.base import Cast
from tests.contrib.panel.conftest import say_something, signed_in
from tests.factories import make_member

KEYS = "/admin/assistant/apikey/"


@pytest.fixture
def leaked(cast: Cast) -> tuple[ApiKey, str]:
    return create_api_key(
        tenant=cast.acme, user=cast.alice, name="shop", scopes=["chat"], requests_per_day=9, runs_at_once=2
    )


def rotate(client: Client, key: ApiKey, *, grace: object = 0, once: str = "") -> Any:
    return client.post(f"{KEYS}{key.pk}/rotate/", {"once": once or new_nonce(), "grace": grace}, follow=True)


def test_a_leaked_key_is_replaced_from_its_page(amys: Client, cast: Cast, leaked: tuple[ApiKey, str]) -> None:
    old, secret = leaked
    page = amys.get(f"{KEYS}{old.pk}/change/")
    shown = rotate(amys, old, once=page.context["nonce"])
    made = ApiKey.objects.exclude(pk=old.pk).get()
    assert shown.context["secret"] in shown.content.decode()
    assert "no-store" in shown.headers["Cache-Control"]
    member = member_by_key(key=shown.context["secret"])
    assert member is not None
    assert member.user_id == cast.alice.pk
    assert member_by_key(key=secret) is None
    same = ("name", "scopes", "user_id", "tenant_id", "requests_per_day", "runs_at_once", "expires_at")
    assert [getattr(made, name) for name in same] == [getattr(old, name) for name in same]
    entry = AuditEntry.objects.get(action="apikey.rotate")
    assert entry.details["values"]["prefix"] == [old.prefix, made.prefix]
    assert shown.context["secret"] not in str(entry.details)
    audit = amys.get("/admin/assistant/auditentry/").content.decode()
    assert f"{old.prefix} → {made.prefix}" in audit


def test_the_old_key_may_go_on_for_a_while(amys: Client, leaked: tuple[ApiKey, str]) -> None:
    old, secret = leaked
    rotate(amys, old, grace=24)
    old.refresh_from_db()
    assert member_by_key(key=secret) is not None
    assert old.expires_at is not None
    assert timedelta(hours=23) < old.expires_at - timezone.now() <= timedelta(hours=24)


def test_the_old_key_never_lives_longer_than_before(amys: Client, leaked: tuple[ApiKey, str]) -> None:
    old, _ = leaked
    ends_at = timezone.now() + timedelta(minutes=5)
    ApiKey.objects.filter(pk=old.pk).update(expires_at=ends_at)
    rotate(amys, old, grace=168)
    assert set(ApiKey.objects.values_list("expires_at", flat=True)) == {ends_at}


def test_a_form_makes_one_key(amys: Client, leaked: tuple[ApiKey, str]) -> None:
    once = new_nonce()
    rotate(amys, leaked[0], grace=1, once=once)
    again = rotate(amys, leaked[0], grace=1, once=once)
    assert "already created" in again.content.decode()
    assert ApiKey.objects.count() == 2


@pytest.mark.parametrize("end", [{"revoked_at": timezone.now()}, {"expires_at": timezone.now() - timedelta(days=1)}])
def test_a_key_that_has_ended_is_not_replaced(amys: Client, leaked: tuple[ApiKey, str], end: dict[str, Any]) -> None:
    ApiKey.objects.filter(pk=leaked[0].pk).update(**end)
    assert "works no longer" in rotate(amys, leaked[0]).content.decode()
    assert "Make the new key" not in amys.get(f"{KEYS}{leaked[0].pk}/change/").content.decode()
    assert ApiKey.objects.count() == 1


def test_nobody_gets_a_key_of_somebody_who_may_do_more(cast: Cast, leaked: tuple[ApiKey, str]) -> None:
    holder = make_member(cast.acme, "keeper", is_staff=True)
    role = CustomRole.objects.create(tenant=cast.acme, name="Keys", keys=True)
    Membership.objects.get(user=holder).custom_roles.add(role)
    client = signed_in(holder)
    page = client.get(f"{KEYS}{leaked[0].pk}/change/")
    assert page.status_code == 200
    assert "Make the new key" not in page.content.decode()
    assert "You may make keys for yourself only." in rotate(client, leaked[0]).content.decode()
    own, _ = create_api_key(tenant=cast.acme, user=holder, name="own", scopes=["chat"])
    assert rotate(client, own).context["secret"]


def test_a_tenants_admin_gets_no_key_of_a_superuser(amys: Client, cast: Cast) -> None:
    Membership.objects.create(tenant=cast.acme, user=cast.root)
    key, _ = create_api_key(tenant=cast.acme, user=cast.root, name="root's", scopes=["chat"])
    rotate(amys, key)
    assert ApiKey.objects.count() == 1


def test_another_tenants_key_does_not_exist(cast: Cast, leaked: tuple[ApiKey, str]) -> None:
    gretas = signed_in(cast.greta)
    assert rotate(gretas, leaked[0]).status_code == 404
    assert gretas.get(f"{KEYS}{leaked[0].pk}/rotate/").status_code == 405
    checked = Client(enforce_csrf_checks=True)
    checked.force_login(cast.amy)
    assert rotate(checked, leaked[0]).status_code == 403
    assert ApiKey.objects.count() == 1


def test_the_page_has_the_last_runs_of_the_key_alone(amys: Client, cast: Cast, leaked: tuple[ApiKey, str]) -> None:
    key, _ = leaked
    other, _ = create_api_key(tenant=cast.acme, user=cast.alice, name="other")
    mine, others, old = (say_something(cast) for _ in range(3))
    Run.objects.filter(pk=mine.pk).update(api_key=key, input_tokens=31, output_tokens=7)
    Run.objects.filter(pk=others.pk).update(api_key=other)
    Run.objects.filter(pk=old.pk).update(api_key=key, started_at=timezone.now() - timedelta(days=40))
    page = amys.get(f"{KEYS}{key.pk}/change/")
    assert [run.pk for run in page.context["use"].latest] == [mine.pk]
    assert page.context["use"].assistants == (("support", 1),)
    text = page.content.decode()
    assert "31 in, 7 out" in text
    assert f"/admin/assistant/run/{mine.pk}/change/" in text


def test_the_page_makes_no_more_queries_for_more_runs(amys: Client, cast: Cast, leaked: tuple[ApiKey, str]) -> None:
    def count(rows: int) -> int:
        for _ in range(rows):
            Run.objects.filter(pk=say_something(cast).pk).update(api_key=leaked[0])
        with CaptureQueriesContext(connection) as queries:
            amys.get(f"{KEYS}{leaked[0].pk}/change/")
        return len(queries)

    count(1)
    assert count(1) == count(8)

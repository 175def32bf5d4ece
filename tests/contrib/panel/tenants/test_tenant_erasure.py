"""Deleting a tenant in the admin is the documented erasure."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from assistant.models import AuditEntry, Conversation, Membership, Tenant
from assistant.services.privacy.erasure import erase_tenant, erase_user
from tests.base import Cast
from tests.contrib.panel.conftest import say_something, signed_in
from tools.models import Customer, Order


def page_of(cast: Cast) -> str:
    return f"/admin/assistant/tenant/{cast.acme.pk}/delete/"


@pytest.mark.django_db(transaction=True)
def test_an_operator_erases_a_tenant_with_its_people_and_history(root: Client, cast: Cast) -> None:
    say_something(cast)
    customer = Customer.objects.create(tenant=cast.acme, number=42, name="Ada", email="a@example.com")
    Order.objects.create(tenant=cast.acme, number=1, customer=customer, total=1, placed_at=timezone.now())
    Membership.objects.create(tenant=cast.globex, user=cast.alice)
    page = root.get(page_of(cast)).content.decode()
    assert ">Conversations<" in page
    assert "assistant.Conversation" not in page
    assert root.post(page_of(cast), {"slug": "acme"}).status_code == 302
    assert not Tenant.objects.filter(slug="acme").exists()
    assert not User.objects.filter(username="amy").exists()
    assert User.objects.filter(username="alice").exists()
    entry = AuditEntry.objects.get(action="tenant.erase")
    assert (entry.actor, entry.details["rows"]["assistant.Conversation"]) == (cast.root, 1)


@pytest.mark.parametrize("typed", ["", "globex", "yes"])
def test_a_tenant_is_erased_only_if_its_name_was_typed(root: Client, cast: Cast, typed: str) -> None:
    answer = root.post(page_of(cast), {"slug": typed, "post": "yes"}, follow=True)
    assert "Nothing was deleted" in answer.content.decode()
    assert Tenant.objects.filter(slug="acme", is_active=True).exists()


def test_only_operators_erase_tenants_and_never_several_at_once(root: Client, amys: Client, cast: Cast) -> None:
    assert amys.post(page_of(cast), {"slug": "acme"}).status_code == 404
    data = {"action": "delete_selected", "_selected_action": cast.acme.pk, "post": "yes"}
    root.post("/admin/assistant/tenant/", data)
    assert Tenant.objects.filter(slug="acme").exists()


def test_an_erasure_needs_the_csrf_token(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.root)
    assert client.post(page_of(cast), {"slug": "acme"}).status_code == 403
    assert signed_in(cast.root).get(page_of(cast)).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_an_erasure_is_no_part_of_the_request_s_transaction(
    root: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    assert root.post(page_of(cast), {"slug": "acme"}).status_code == 302
    assert not Tenant.objects.filter(slug="acme").exists()
    assert AuditEntry.objects.filter(action="tenant.erase").exists()


@pytest.mark.django_db(transaction=True)
def test_within_a_transaction_nothing_is_erased(cast: Cast) -> None:
    run = say_something(cast)
    for erase in (lambda: erase_tenant(tenant=cast.acme, actor=None), lambda: erase_user(user=cast.alice, actor=None)):
        with pytest.raises(RuntimeError, match="non_atomic_requests"), transaction.atomic():
            erase()
    assert Tenant.objects.filter(slug="acme", is_active=True).exists()
    assert Conversation.objects.filter(pk=run.conversation_id).exists()
    assert not AuditEntry.objects.filter(action__endswith=".erase").exists()

"""Deleting a user in the admin is the documented erasure."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from assistant.models import AuditEntry, Conversation
from tests.base import Cast
from tests.contrib.panel.conftest import say_something, signed_in


def page_of(user: User) -> str:
    return f"/admin/auth/user/{user.pk}/delete/"


@pytest.mark.django_db(transaction=True)
def test_an_operator_erases_a_user_with_their_history(root: Client, cast: Cast) -> None:
    say_something(cast)
    AuditEntry.objects.create(tenant=cast.acme, actor=cast.root, action="membership.change", target="alice in acme")
    page = root.get(page_of(cast.alice)).content.decode()
    assert ">Conversations<" in page
    assert root.post(page_of(cast.alice), {"username": "alice"}).status_code == 302
    assert not User.objects.filter(username="alice").exists()
    assert not Conversation.objects.exists()
    assert not AuditEntry.objects.filter(target__contains="alice").exists()
    entry = AuditEntry.objects.get(action="user.erase")
    assert (entry.actor, entry.details["rows"]["assistant.Conversation"]) == (cast.root, 1)


@pytest.mark.parametrize("typed", ["", "amy", "yes"])
def test_a_user_is_erased_only_if_their_name_was_typed(root: Client, cast: Cast, typed: str) -> None:
    answer = root.post(page_of(cast.alice), {"username": typed, "post": "yes"}, follow=True)
    assert "Nothing was deleted" in answer.content.decode()
    assert User.objects.filter(username="alice", is_active=True).exists()


def test_nobody_erases_themselves(root: Client, cast: Cast) -> None:
    page = root.post(page_of(cast.root), {"username": "root"}).content.decode()
    assert "You cannot erase yourself" in page
    assert User.objects.filter(username="root").exists()


def test_only_operators_erase_users_and_never_several_at_once(root: Client, amys: Client, cast: Cast) -> None:
    assert amys.post(page_of(cast.alice), {"username": "alice"}).status_code == 403
    data = {"action": "delete_selected", "_selected_action": cast.alice.pk, "post": "yes"}
    root.post("/admin/auth/user/", data)
    assert User.objects.filter(username="alice").exists()


def test_an_erasure_of_a_user_needs_the_csrf_token(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.root)
    assert client.post(page_of(cast.alice), {"username": "alice"}).status_code == 403
    assert signed_in(cast.root).get(page_of(cast.alice)).status_code == 200

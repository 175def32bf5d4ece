"""The account's page in the shell of the chat, what is stored of a member, and the deletion of their conversations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.conversation_exports import own_conversations
from assistant.models import AuditEntry, Conversation, Run
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run

pytestmark = pytest.mark.django_db
PAGE, ACCOUNT = "/t/acme/own-data/", "/accounts/settings/"


def signed_in(user: Any, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def test_the_account_stands_in_the_shell_of_the_last_tenant(cast: Cast) -> None:
    alices = signed_in(cast.alice)
    page = alices.get(ACCOUNT).content.decode()
    assert 'id="sidebar"' in page and PAGE in page and "Yours at Acme" in page
    outside = signed_in(cast.oscar).get(ACCOUNT).content.decode()
    assert 'id="sidebar"' not in outside and "own-data" not in outside and "Back to the chat" in outside
    cast.globex.memberships.create(user=cast.alice)
    alices.get("/t/globex/")
    assert "/t/globex/own-data/" in alices.get(ACCOUNT).content.decode()
    cast.globex.memberships.filter(user=cast.alice).delete()
    assert PAGE in alices.get(ACCOUNT).content.decode()


def test_what_is_stored_is_counted_and_nothing_of_others(cast: Cast) -> None:
    for user, times in ((cast.alice, 3), (cast.amy, 2)):
        for _ in range(times):
            make_message(make_conversation(user, cast.support), role="user", content="Hello")
    kinds = dict(signed_in(cast.alice).get(PAGE).context["kinds"])
    assert (kinds["Conversations"], kinds["Messages"]) == (3, 3)
    assert "Conversations" not in dict(signed_in(cast.mallory).get(PAGE.replace("acme", "globex")).context["kinds"])
    assert signed_in(cast.mallory).get(PAGE).status_code == 404


def test_all_of_ones_own_conversations_are_deleted_and_no_other(cast: Cast) -> None:
    for user in (cast.alice, cast.alice, cast.amy):
        make_conversation(user, cast.support)
    alices = signed_in(cast.alice)
    assert "Tick that you are sure" in alices.post(PAGE, follow=True).content.decode()
    assert Conversation.objects.count() == 3
    assert "2 conversations are deleted." in alices.post(PAGE, {"sure": "1"}, follow=True).content.decode()
    assert [one.user_id for one in Conversation.objects.all()] == [cast.amy.pk]
    entry = AuditEntry.objects.get(action="conversations.delete")
    assert (entry.tenant_id, entry.actor_id, entry.details) == (cast.acme.pk, cast.alice.pk, {"count": 2})
    assert signed_in(cast.mallory).post(PAGE, {"sure": "1"}).status_code == 404
    assert signed_in(cast.alice, enforce_csrf_checks=True).post(PAGE, {"sure": "1"}).status_code == 403


def test_what_is_being_answered_and_what_is_too_much_stays(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = make_conversation(cast.alice, cast.support)
    make_run(busy, status=Run.Status.RUNNING, lease_until=timezone.now() + timedelta(minutes=5))
    for _ in range(3):
        make_conversation(cast.alice, cast.support)
    monkeypatch.setattr(own_conversations, "MAX_DELETED", 2)
    text = signed_in(cast.alice).post(PAGE, {"sure": "1"}, follow=True).content.decode()
    assert "3 are left" in text and Conversation.objects.filter(pk=busy.pk).exists()

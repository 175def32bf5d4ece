"""Reading other people's conversations: with a reason where the tenant asks for one, never where it is switched off."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.test import Client

from assistant.models import AuditEntry, Conversation, Message, Run, Tenant, ToolCall
from tests.base import Cast
from tests.contrib.panel.conftest import say_something, signed_in
from tests.contrib.panel.inbox.test_inbox import waiting

REASON, OFF = "reason", "off"


def restrict(cast: Cast, reading: str) -> Run:
    run = say_something(cast)
    Tenant.objects.filter(pk=cast.acme.pk).update(chat_reading=reading)
    return run


def readings() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(action="conversation.read").order_by("pk"))


def pages_of(run: Run) -> list[str]:
    message, call = Message.objects.filter(run=run).first(), ToolCall.objects.get(run=run)
    assert message is not None
    changes = [("conversation", run.conversation_id), ("run", run.pk), ("toolcall", call.pk), ("message", message.pk)]
    return [f"/admin/assistant/{kind}/{pk}/{page}/" for kind, pk in changes for page in ("change", "history")]


def give_reason(client: Client, run: Run, **given: Any) -> Any:
    return client.post(f"/admin/assistant/conversation/{run.conversation_id}/read/", {"reason": "A ticket", **given})


def test_a_reading_is_recorded_once_an_hour(amys: Client, cast: Cast) -> None:
    run = say_something(cast)
    for _ in range(2):
        for url in pages_of(run):
            assert amys.get(url).status_code == 200
    (entry,) = readings()
    assert (entry.actor, entry.target, entry.tenant) == (cast.amy, str(run.conversation_id), cast.acme)
    assert entry.details == {"person": "alice"}


@pytest.mark.parametrize("who", ["amy", "root"])
def test_no_page_of_a_conversation_opens_without_a_reason(cast: Cast, who: str) -> None:
    run, client = restrict(cast, REASON), signed_in(getattr(cast, who))
    for url in pages_of(run):
        response = client.get(url)
        assert response.status_code == 302, url
        assert response["Location"].startswith(f"/admin/assistant/conversation/{run.conversation_id}/read/?next=")
    assert readings() == []
    form = client.get(f"/admin/assistant/conversation/{run.conversation_id}/read/").content.decode()
    assert "Opening hours" not in form and "At nine" not in form
    assert give_reason(client, run, reason=" ").status_code == 200
    assert readings() == []
    answer = give_reason(client, run, next=pages_of(run)[2])
    assert answer["Location"] == pages_of(run)[2]
    for url in pages_of(run):
        assert client.get(url).status_code == 200, url
    (entry,) = readings()
    assert entry.details == {"person": "alice", "reason": "A ticket"}
    other = restrict(cast, REASON)
    assert client.get(pages_of(other)[0]).status_code == 302


def test_the_form_leads_to_no_other_host(amys: Client, cast: Cast) -> None:
    run = restrict(cast, REASON)
    assert give_reason(amys, run, next="https://evil.example/")["Location"] == pages_of(run)[0]


def test_a_reason_needs_a_csrf_token_and_the_conversations_tenant(cast: Cast) -> None:
    run = restrict(cast, REASON)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(cast.amy)
    assert give_reason(strict, run).status_code == 403
    assert give_reason(signed_in(cast.greta), run).status_code == 404
    assert readings() == []


@pytest.mark.parametrize("who", ["amy", "root"])
def test_where_it_is_switched_off_nobody_reads_another_persons_conversation(cast: Cast, who: str) -> None:
    run, client = restrict(cast, OFF), signed_in(getattr(cast, who))
    give_reason(client, run)
    for url in pages_of(run):
        response = client.get(url)
        assert response.status_code == 403, url
        assert "At nine" not in response.content.decode() and "Opening hours" not in response.content.decode()
    assert readings() == []


def test_a_reason_that_was_given_does_not_count_once_it_is_switched_off(amys: Client, cast: Cast) -> None:
    run = restrict(cast, REASON)
    give_reason(amys, run)
    Tenant.objects.filter(pk=cast.acme.pk).update(chat_reading=OFF)
    assert amys.get(pages_of(run)[0]).status_code == 403


def test_ones_own_conversation_opens_without_a_reason(amys: Client, cast: Cast) -> None:
    run = restrict(cast, OFF)
    Conversation.objects.filter(pk=run.conversation_id).update(user=cast.amy)
    assert "At nine" in amys.get(pages_of(run)[0]).content.decode()
    assert readings() == []


@pytest.mark.parametrize("reading", [REASON, OFF])
def test_lists_and_searches_tell_nothing(amys: Client, root: Client, cast: Cast, reading: str) -> None:
    waiting(cast, expression="1+1")
    restrict(cast, reading)
    kinds = ("conversation", "run", "message", "feedback", "toolcall", "approval")
    lists = [f"/admin/assistant/{kind}/" for kind in kinds]
    for client in (amys, root):
        for url in (*lists, "/admin/search/?q=Opening", f"/admin/assistant/tenant/{cast.acme.pk}/conversations/"):
            text = client.get(url).content.decode()
            assert "Opening hours" not in text, url
            assert "At nine" not in text and "When do you open" not in text, url
        for kind, words in (
            ("conversation", "nine"),
            ("conversation", "Opening"),
            ("run", "Opening"),
            ("message", "nine"),
            ("feedback", "nine"),
            ("toolcall", "1+1"),
        ):
            found = client.get(f"/admin/assistant/{kind}/", {"q": words}).context["cl"].result_count
            assert found == 0, (kind, words)
        assert client.get("/admin/assistant/conversation/", {"q": "alice"}).context["cl"].result_count == 2


def test_lists_show_what_was_opened_with_a_reason(amys: Client, cast: Cast) -> None:
    run = restrict(cast, REASON)
    give_reason(amys, run)
    assert "Opening hours" in amys.get("/admin/assistant/conversation/").content.decode()
    assert "At nine" in amys.get("/admin/assistant/message/").content.decode()


def test_an_open_tenant_is_searched_beside_a_closed_one(root: Client, cast: Cast) -> None:
    restrict(cast, "open")
    Tenant.objects.filter(pk=cast.globex.pk).update(chat_reading=OFF)
    assert root.get("/admin/assistant/conversation/", {"q": "nine"}).context["cl"].result_count == 1


def test_the_page_of_an_approval_hides_the_question_and_not_the_arguments(amys: Client, cast: Cast) -> None:
    call = waiting(cast, expression="1+1")
    Tenant.objects.filter(pk=cast.acme.pk).update(chat_reading=REASON)
    text = amys.get(f"/admin/assistant/approval/{call.pk}/change/").content.decode()
    assert "When do you open" not in text and "Opening hours" not in text
    assert "1+1" in text


def test_a_tenants_admin_sets_it_in_the_settings(amys: Client, cast: Cast) -> None:
    assert "chat_reading" in amys.get(f"/admin/assistant/tenant/{cast.acme.pk}/change/").content.decode()


@pytest.mark.parametrize("who", ["amy", "root"])
def test_no_other_page_shows_the_texts(cast: Cast, who: str) -> None:
    restrict(cast, OFF)
    client = signed_in(getattr(cast, who))
    deletions = (("assistant/assistant", cast.support.pk), ("auth/user", cast.alice.pk))
    pages = ["/admin/", *(f"/admin/{kind}/{pk}/delete/" for kind, pk in deletions)]
    pages += [f"/admin/{model._meta.app_label}/{model._meta.model_name}/" for model in admin.site._registry]
    for url in pages:
        text = client.get(url).content.decode()
        for said in ("Opening hours", "At nine", "When do you open"):
            assert said not in text, url

"""What is told of how much an assistant reads of a conversation, and to whom."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.contrib.context_gauge.reading import used_context
from assistant.contrib.shares.links import share_conversation
from assistant.core.values.history_window import IMAGE_TOKENS, Estimates, estimate
from assistant.core.values.messages import Message
from assistant.models import Assistant, Conversation, Run, Tenant
from assistant.services.conversations.summaries import summary_message
from assistant.services.runs.reading.answer_details import answer_details
from assistant.services.tenancy.members import Member, find_member
from assistant.testing import ChatTester, answer_with
from assistant.testing.scripted import ScriptedModel
from tests.api.calling import Caller
from tests.base import Cast
from tests.contrib.shares.sharing import set_sharing
from tests.factories import make_conversation, make_message, make_run

pytestmark = pytest.mark.django_db
PROMPT = "You are Acme's support assistant."
QUESTION, ANSWER = "Where is it? " * 20, "On the coast. " * 20
TALK = Estimates().of([Message("system", PROMPT), Message("user", QUESTION), Message("assistant", ANSWER)])


def member_of(tenant: Tenant, user: User) -> Member:
    found = find_member(user_id=user.pk, tenant_slug=tenant.slug)
    assert found is not None
    return found


@pytest.fixture
def talk(cast: Cast) -> Conversation:
    Assistant.objects.filter(pk=cast.support.pk).update(history_tokens=1_000)
    return said(make_conversation(cast.alice, cast.support, branches=[], choices=[]))


def said(conversation: Conversation, **of_question: Any) -> Conversation:
    run = make_run(conversation)
    make_message(conversation, "user", QUESTION, run=run, position=conversation.message_count, **of_question)
    make_message(conversation, "assistant", ANSWER, run=run, position=conversation.message_count + 1)
    Conversation.objects.filter(pk=conversation.pk).update(message_count=conversation.message_count + 2)
    conversation.refresh_from_db()
    return conversation


def told(member: Member, conversation: Conversation) -> list[Any]:
    """Return what each answer of a conversation says, the oldest first."""
    details = answer_details(member=member, thread_id=conversation.pk)
    return [one.get("added", {}).get("context") for one in details]


def test_the_newest_answer_says_what_is_used_of_the_limit(cast: Cast, talk: Conversation) -> None:
    alice = member_of(cast.acme, cast.alice)
    assert told(alice, talk) == [{"used": TALK, "limit": 1_000, "older": "read"}]
    assert told(alice, said(talk)) == [None, {"used": 2 * TALK - of_prompt(), "limit": 1_000, "older": "read"}]


def of_prompt() -> int:
    return estimate(Message("system", PROMPT))


def test_a_program_gets_it_with_a_run_and_with_stored_messages(cast: Cast, provider: object) -> None:
    with answer_with(ScriptedModel(["On the coast."])), ChatTester(cast.acme, cast.alice) as chat:
        assert not chat.ask("Where?").error
    conversation = Conversation.objects.get()
    expected = told(member_of(cast.acme, cast.alice), conversation)
    assert expected[0]["limit"] == Assistant._meta.get_field("history_tokens").default
    stored = Caller(cast.acme, cast.alice)("get", f"conversations/{conversation.client_id}/messages/").json()["results"]
    assert [one["added"]["context"] for one in stored if one["role"] == "assistant"] == expected


def test_nothing_is_told_without_a_limit(cast: Cast, talk: Conversation) -> None:
    Assistant.objects.update(history_tokens=0)
    assert told(member_of(cast.acme, cast.alice), talk) == [None]


def test_nobody_else_is_told(client: Client, cast: Cast, talk: Conversation) -> None:
    """Another tenant's member, another member of the tenant, and a reader of a link."""
    runs = list(Run.objects.filter(tenant=cast.acme))
    for tenant, user in ((cast.globex, cast.mallory), (cast.globex, cast.greta), (cast.acme, cast.amy)):
        assert used_context(member=member_of(tenant, user), runs=runs) == {}
        assert told(member_of(tenant, user), talk) == []
    set_sharing(cast.acme)
    link = share_conversation(member=member_of(cast.acme, cast.alice), conversation_id=talk.pk)
    assert link is not None
    client.force_login(cast.amy)
    page = client.get(f"/t/acme/s/{link.pk}/").content.decode()
    assert "On the coast." in page and "data-added" not in page


def test_a_summary_is_counted_in_place_of_what_it_covers(cast: Cast, talk: Conversation) -> None:
    said(talk)
    Conversation.objects.filter(pk=talk.pk).update(summary="It is on the coast.", summarised_to=2)
    (summary,) = summary_message("It is on the coast.", ())
    (_, newest) = told(member_of(cast.acme, cast.alice), talk)
    assert newest == {"used": TALK + estimate(summary), "limit": 1_000, "older": "summarised"}


@pytest.mark.parametrize("limits", [{"history_tokens": TALK}, {"history_messages": 2}])
def test_it_says_when_older_messages_are_no_longer_read(limits: dict[str, int], cast: Cast, talk: Conversation) -> None:
    alice = member_of(cast.acme, cast.alice)
    Assistant.objects.filter(pk=cast.support.pk).update(**limits)
    assert told(alice, talk)[0]["older"] == "read"
    assert told(alice, said(talk))[1]["older"] == "left_out"


def test_files_are_estimated_by_their_size(cast: Cast, talk: Conversation) -> None:
    files = [
        {"id": "a", "name": "a.txt", "mediaType": "text/plain", "size": 400},
        {"id": "b", "name": "b.png", "mediaType": "image/png", "size": 90_000},
    ]
    said(talk, attachments=files)
    (_, newest) = told(member_of(cast.acme, cast.alice), talk)
    assert newest["used"] == 2 * TALK - of_prompt() + 100 + IMAGE_TOKENS


def test_only_the_path_that_is_shown_counts(cast: Cast, talk: Conversation) -> None:
    """A second question in place of the first: the first answer is on no path that is shown."""
    alice = member_of(cast.acme, cast.alice)
    said(talk)
    Conversation.objects.filter(pk=talk.pk).update(branches=[[2, 0]])
    assert told(alice, talk) == [None, {"used": TALK, "limit": 1_000, "older": "read"}]
    Conversation.objects.filter(pk=talk.pk).update(choices=[[0, 0]])
    assert told(alice, talk) == [{"used": TALK, "limit": 1_000, "older": "read"}, None]


def test_the_number_of_statements_does_not_grow(cast: Cast, talk: Conversation) -> None:
    alice = member_of(cast.acme, cast.alice)
    for _turn in range(3):
        with CaptureQueriesContext(connection) as queries:
            assert used_context(member=alice, runs=list(Run.objects.filter(tenant=cast.acme)))
        assert len(queries) == 1 + 3  # that of the runs, and ours
        said(talk)
    assert used_context(member=alice, runs=Run.objects.filter(tenant=cast.acme, number=1)) == {}  # not the newest

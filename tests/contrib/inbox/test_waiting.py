"""What waits for a member: what needs them, what is new, what runs; nothing of anybody else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant.contrib.inbox.models import ConversationSeen, MemberInbox
from assistant.contrib.inbox.services.waiting import entries_of, mark_seen
from assistant.models import Conversation, Run, ToolCall
from assistant.services.tenancy.members import Member, find_member
from tests.base import Cast
from tests.factories import make_assistant, make_conversation, make_run

pytestmark = pytest.mark.django_db


def member(slug: str, user: Any) -> Member:
    found = find_member(user_id=user.pk, tenant_slug=slug)
    assert found is not None
    return found


def states(one: Member) -> list[tuple[str, str]]:
    return [(entry.title, entry.state) for entry in entries_of(one)]


def ended(conversation: Conversation, **fields: Any) -> Run:
    return make_run(conversation, **{"status": Run.Status.FINISHED, "ended_at": timezone.now(), **fields})


@pytest.fixture
def alice(cast: Cast) -> Member:
    found = member("acme", cast.alice)
    MemberInbox.objects.create(tenant=cast.acme, user=cast.alice, since=timezone.now() - timedelta(hours=2))
    return found


def waiting(cast: Cast, title: str = "Approve me", ago: timedelta = timedelta(0)) -> Conversation:
    conversation = make_conversation(cast.alice, cast.support, title=title)
    run = ended(conversation, status=Run.Status.WAITING)
    asked = ToolCall.Status.AWAITING_APPROVAL
    call = ToolCall.objects.create(
        tenant=cast.acme, run=run, user=cast.alice, call_id="c1", name="update_customer", status=asked
    )
    ToolCall.objects.filter(pk=call.pk).update(started_at=timezone.now() - ago)
    return conversation


def test_each_conversation_is_there_once_and_what_needs_somebody_comes_first(cast: Cast, alice: Member) -> None:
    make_run(make_conversation(cast.alice, cast.support, title="Runs"), status=Run.Status.RUNNING)
    new = make_conversation(cast.alice, cast.support, title="Ended")
    for number in (1, 2):
        ended(new, number=number, run_id=f"r{number}")
    waiting(cast)
    assert states(alice) == [("Approve me", "needs"), ("Ended", "new"), ("Runs", "running")]
    assert entries_of(alice)[0].about == "Change a customer"


def test_an_answer_is_new_until_it_was_seen_and_again_with_the_next(cast: Cast, alice: Member) -> None:
    conversation = make_conversation(cast.alice, cast.support, title="Ended")
    ended(conversation)
    assert mark_seen(member=alice, conversation_id=conversation.pk)
    assert states(alice) == []
    ended(conversation, number=2, run_id="r2")
    assert states(alice) == [("Ended", "new")]


def test_answers_from_before_the_first_use_are_not_new(cast: Cast) -> None:
    ended(make_conversation(cast.alice, cast.support), ended_at=timezone.now() - timedelta(seconds=1))
    one = member("acme", cast.alice)
    assert states(one) == []
    ended(make_conversation(cast.alice, cast.support, title="Later"))
    assert states(one) == [("Later", "new")]


def test_an_approval_that_cannot_be_answered_any_more_waits_for_nobody(cast: Cast, alice: Member) -> None:
    waiting(cast, ago=timedelta(hours=25))
    assert states(alice) == []


@pytest.mark.parametrize("hidden", [{"is_stateless": True}, {"test_tools": "stub"}])
def test_what_is_in_no_list_of_conversations_is_not_in_the_inbox(cast: Cast, alice: Member, hidden: Any) -> None:
    ended(make_conversation(cast.alice, cast.support, **hidden))
    assert states(alice) == []


def test_nobody_else_sees_it_or_marks_it(cast: Cast, alice: Member) -> None:
    conversation = waiting(cast)
    for other in (member("acme", cast.amy), member("globex", cast.mallory)):
        assert states(other) == []
        assert not mark_seen(member=other, conversation_id=conversation.pk)
    assert not ConversationSeen.objects.exists()


def test_a_token_of_one_assistant_shows_that_ones_alone(cast: Cast, alice: Member) -> None:
    ended(make_conversation(cast.alice, make_assistant(cast.acme, "sales"), title="Sales"))
    ended(make_conversation(cast.alice, cast.support, title="Support"))
    assert states(replace(alice, assistant_id=cast.support.pk)) == [("Support", "new")]


def test_reading_takes_few_queries_however_much_there_is(
    cast: Cast, alice: Member, django_assert_max_num_queries: Any
) -> None:
    for number in range(5):
        ended(make_conversation(cast.alice, cast.support, title=str(number)))
        waiting(cast, title=f"w{number}")
    with django_assert_max_num_queries(5):
        assert len(entries_of(alice)) == 10

"""Conversations: a member lists, searches, renames and deletes their own, and nobody else's."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from assistant.models import Conversation, Run
from assistant.services.conversations.conversations import (
    ConversationBusy,
    delete_conversation,
    find_conversation,
    list_conversations,
    rename_conversation,
)
from assistant.services.tenancy.members import Member, find_member
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run


def member_of(user: User, slug: str) -> Member:
    member = find_member(user_id=user.pk, tenant_slug=slug)
    assert member is not None
    return member


@pytest.fixture
def talk(cast: Cast) -> Conversation:
    return make_conversation(cast.alice, cast.support, title="Refund")


def test_lists_a_members_own_latest_first(cast: Cast, alice_member: Member, talk: Conversation) -> None:
    later = make_conversation(cast.alice, cast.support, title="Later")
    make_conversation(cast.amy, cast.support, title="Amy's")
    make_conversation(cast.mallory, cast.rival_support, title="Mallory's")
    assert list_conversations(member=alice_member) == [later, talk]


@pytest.mark.parametrize(("search", "count"), [("refund", 1), ("PARCEL", 1), ("zebra", 0), (" ", 1), ("\x00", 0)])
def test_searches_titles_and_messages(alice_member: Member, talk: Conversation, search: str, count: int) -> None:
    make_message(talk, "user", "Where is the parcel?")
    make_message(talk, "assistant", "The parcel is on its way.")
    make_message(talk, "tool", "zebra", tool_call_id="c")
    assert len(list_conversations(member=alice_member, search=search)) == count


@pytest.mark.parametrize("search", ["ÜNÏ", "ünï", "ПОЧТА", "50% (почта)", "a_b\\"])
def test_search_ignores_the_case_of_every_script(cast: Cast, alice_member: Member, search: str) -> None:
    found = make_conversation(cast.alice, cast.support, title="Conv 3 ünï")
    make_message(found, "user", "50% (Почта)? A_B\\")
    make_message(make_conversation(cast.alice, cast.support, title="Another uni"), "user", "50 почт axb")
    assert list_conversations(member=alice_member, search=search) == [found]


def test_renames_to_one_line(alice_member: Member, talk: Conversation) -> None:
    assert rename_conversation(member=alice_member, conversation_id=talk.pk, title=" New\n title ") == "New title"
    talk.refresh_from_db()
    assert talk.title == "New title"


def test_refuses_an_empty_title(alice_member: Member, talk: Conversation) -> None:
    with pytest.raises(ValueError, match="needs a title"):
        rename_conversation(member=alice_member, conversation_id=talk.pk, title=" \n")


def test_deletes_a_conversation_with_its_messages(alice_member: Member, talk: Conversation) -> None:
    make_message(talk, run=make_run(talk))
    assert delete_conversation(member=alice_member, conversation_id=talk.pk)
    assert not Conversation.objects.filter(pk=talk.pk).exists()
    assert not delete_conversation(member=alice_member, conversation_id=talk.pk)


def test_does_not_delete_a_conversation_with_a_running_run(alice_member: Member, talk: Conversation) -> None:
    make_run(talk, status=Run.Status.RUNNING, lease_until=timezone.now() + timedelta(minutes=1))
    with pytest.raises(ConversationBusy):
        delete_conversation(member=alice_member, conversation_id=talk.pk)


def test_deletes_a_conversation_whose_run_is_dead(alice_member: Member, talk: Conversation) -> None:
    make_run(talk, status=Run.Status.RUNNING, lease_until=timezone.now() - timedelta(minutes=1))
    assert delete_conversation(member=alice_member, conversation_id=talk.pk)


@pytest.mark.parametrize("who", ["mallory", "amy"])
def test_another_members_conversation_does_not_exist(cast: Cast, talk: Conversation, who: str) -> None:
    make_run(talk, status=Run.Status.RUNNING, lease_until=timezone.now() + timedelta(minutes=1))
    other = member_of(getattr(cast, who), "globex" if who == "mallory" else "acme")
    assert find_conversation(member=other, conversation_id=talk.pk) is None
    assert rename_conversation(member=other, conversation_id=talk.pk, title="Mine") is None
    assert not delete_conversation(member=other, conversation_id=talk.pk)
    assert list_conversations(member=other, search="Refund") == []
    assert find_conversation(member=other, conversation_id=uuid.uuid4()) is None

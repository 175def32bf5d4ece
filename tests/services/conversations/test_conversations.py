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
    pin_conversation,
    rename_conversation,
)
from assistant.services.conversations.pagination import conversation_page
from assistant.services.conversations.snippets import Snippet, snippet_of, snippets_of
from assistant.services.tenancy.members import Member, find_member
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run


def member_of(user: User, slug: str) -> Member:
    member = find_member(user_id=user.pk, tenant_slug=slug)
    assert member is not None
    return member


def listed(member: Member, *, search: str = "", is_pinned: bool | None = None) -> list[Conversation]:
    return list(conversation_page(member=member, search=search, is_pinned=is_pinned, limit=100).entries)


@pytest.fixture
def talk(cast: Cast) -> Conversation:
    return make_conversation(cast.alice, cast.support, title="Refund")


def test_lists_a_members_own_latest_first(cast: Cast, alice_member: Member, talk: Conversation) -> None:
    later = make_conversation(cast.alice, cast.support, title="Later")
    make_conversation(cast.amy, cast.support, title="Amy's")
    make_conversation(cast.mallory, cast.rival_support, title="Mallory's")
    assert listed(alice_member) == [later, talk]


@pytest.mark.parametrize(("search", "count"), [("refund", 1), ("PARCEL", 1), ("zebra", 0), (" ", 1), ("\x00", 0)])
def test_searches_titles_and_messages(alice_member: Member, talk: Conversation, search: str, count: int) -> None:
    make_message(talk, "user", "Where is the parcel?")
    make_message(talk, "assistant", "The parcel is on its way.")
    make_message(talk, "tool", "zebra", tool_call_id="c")
    assert len(listed(alice_member, search=search)) == count


@pytest.mark.parametrize("search", ["ÜNÏ", "ünï", "ПОЧТА", "50% (почта)", "a_b\\"])
def test_search_ignores_the_case_of_every_script(cast: Cast, alice_member: Member, search: str) -> None:
    found = make_conversation(cast.alice, cast.support, title="Conv 3 ünï")
    make_message(found, "user", "50% (Почта)? A_B\\")
    make_message(make_conversation(cast.alice, cast.support, title="Another uni"), "user", "50 почт axb")
    assert listed(alice_member, search=search) == [found]


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
    assert listed(other, search="Refund") == []
    assert find_conversation(member=other, conversation_id=uuid.uuid4()) is None


def test_a_member_pins_their_own(cast: Cast, alice_member: Member, talk: Conversation) -> None:
    other = make_conversation(cast.alice, cast.support, title="Other")
    assert pin_conversation(member=alice_member, conversation_id=talk.pk, is_pinned=True)
    assert (listed(alice_member, is_pinned=True), listed(alice_member, is_pinned=False)) == ([talk], [other])
    for stranger in (member_of(cast.amy, "acme"), member_of(cast.mallory, "globex")):
        assert not pin_conversation(member=stranger, conversation_id=talk.pk, is_pinned=False)
    assert pin_conversation(member=alice_member, conversation_id=talk.pk, is_pinned=False)
    assert listed(alice_member, is_pinned=True) == []


def test_a_snippet_is_the_place_of_the_words(cast: Cast, alice_member: Member, talk: Conversation) -> None:
    hit = make_message(talk, "user", "Good morning.\n\nWhere is the Parcel that I sent?").message_id
    make_message(talk, "tool", "parcel zebra", tool_call_id="c")
    theirs = [make_conversation(cast.mallory, cast.rival_support), make_conversation(cast.amy, cast.support)]
    for one in theirs:
        make_message(one, "user", "My parcel")
    asked = [talk.pk, *(one.pk for one in theirs)]
    found = snippets_of(member=alice_member, conversations=asked, search="parcel")
    assert found == {talk.pk: Snippet("Good morning. Where is the ", "Parcel", " that I sent?", hit)}
    assert snippets_of(member=alice_member, conversations=[talk.pk], search="zebra") == {}


def test_a_long_text_is_cut_around_the_words() -> None:
    snippet = snippet_of("a " * 100 + "needle" + " b" * 100, "NEEDLE")
    assert snippet.words == "needle" and snippet.before.startswith("…") and snippet.after.endswith("…")
    assert len(snippet.before) < 40 and len(snippet.after) < 100


def test_a_snippet_shows_the_words_and_not_the_marks_of_markdown() -> None:
    begin = "## Returns\n\n- **Bring** the `needle`\n"
    text = f"{begin}- see [the policy](https://example.com/), 2 * 3\n\n| a | b |\n|---|---|\n"
    found = snippet_of(text, "needle")
    assert (found.before, found.words) == ("Returns Bring the ", "needle")
    assert found.after == " see the policy, 2 * 3 a b"
    assert snippet_of(text, "**Bring").words == "**Bring"

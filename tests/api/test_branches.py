"""Branches of a conversation over REST: the path that is shown, its versions, and the switch."""

from __future__ import annotations

import pytest

from assistant.models import Conversation
from tests.api.calling import Caller
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run

# The switch waits for more than the database, on other connections than the test.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def talk(cast: Cast) -> Conversation:
    """A conversation whose question has two answers, the second of which is shown."""
    talk = make_conversation(cast.alice, cast.support, message_count=3, branches=[[2, 1]], choices=[])
    for position, role in enumerate(("user", "assistant", "assistant")):
        make_message(talk, role, f"m{position}", position=position, message_id=f"m{position}")
    return talk


def shown(calls: Caller, talk: Conversation) -> list[str]:
    return [one["id"] for one in calls.get(f"conversations/{talk.pk}/messages/").json()["results"]]


def test_the_history_is_the_path_that_is_shown(alice_calls: Caller, talk: Conversation) -> None:
    results = alice_calls.get(f"conversations/{talk.pk}/messages/").json()["results"]
    assert [(one["id"], one["versions"]) for one in results] == [
        ("m0", None),
        ("m2", {"number": 2, "of": 2, "previous": "m1", "next": None}),
    ]


def test_another_version_can_be_shown(alice_calls: Caller, talk: Conversation) -> None:
    assert alice_calls("put", f"conversations/{talk.pk}/shown/", {"message_id": "m1"}).status_code == 204
    assert shown(alice_calls, talk) == ["m0", "m1"]
    assert alice_calls("put", f"conversations/{talk.pk}/shown/", {"message_id": "m9"}).status_code == 404


def test_nobody_else_can_switch(mallory_calls: Caller, alice_calls: Caller, cast: Cast, talk: Conversation) -> None:
    for calls in (mallory_calls, Caller(cast.acme, cast.amy)):
        assert calls("put", f"conversations/{talk.pk}/shown/", {"message_id": "m1"}).status_code == 404
    assert shown(alice_calls, talk) == ["m0", "m2"]


def test_nothing_is_switched_during_an_answer(alice_calls: Caller, talk: Conversation) -> None:
    make_run(talk, status="running")
    answer = alice_calls("put", f"conversations/{talk.pk}/shown/", {"message_id": "m1"})
    assert (answer.status_code, answer.json()["code"]) == (409, "thread_busy")

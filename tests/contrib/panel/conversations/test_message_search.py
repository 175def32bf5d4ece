"""The search of conversations looks into their messages, within the tenants of the user."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.contrib.panel.services import message_search
from tests.base import Cast
from tests.contrib.panel.conftest import say_something
from tests.factories import make_conversation, make_message

LIST = "/admin/assistant/conversation/"


def found(client: Client, text: str) -> int:
    return int(client.get(LIST, {"q": text}).context["cl"].result_count)


def test_words_of_a_message_find_its_conversation(amys: Client, cast: Cast) -> None:
    say_something(cast)
    say_something(cast)
    assert found(amys, "NINE") == 2
    assert found(amys, "nine at") == 2  # words in any order
    assert found(amys, "open nine") == 0  # of two messages
    assert found(amys, "Opening hours") == 2  # the title
    assert found(amys, "100%") == 0


def test_a_rivals_messages_are_not_found(root: Client, amys: Client, cast: Cast) -> None:
    make_message(make_conversation(cast.mallory, cast.rival_support), "user", "The secret recipe")
    assert found(root, "recipe") == 1
    assert found(amys, "recipe") == 0


def test_only_the_newest_conversations_are_searched(amys: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    old = say_something(cast)
    make_message(old.conversation, "user", "Marmalade")
    assert found(amys, "marmalade") == 1
    monkeypatch.setattr(message_search, "MAX_SEARCHED", 1)
    make_message(make_conversation(cast.alice, cast.support), "user", "Hello")
    assert found(amys, "marmalade") == 0


def test_a_search_makes_no_more_queries_for_many_conversations(amys: Client, cast: Cast) -> None:
    counts = []
    for number in (1, 6):
        for _ in range(number):
            say_something(cast)
        with CaptureQueriesContext(connection) as queries:
            assert found(amys, "nine") >= number
        counts.append(len(queries))
    assert counts[0] == counts[1]

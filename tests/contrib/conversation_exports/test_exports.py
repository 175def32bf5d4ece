"""A conversation is exported, in the chat and over REST, by its member alone."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from assistant.models import Conversation
from tests.api.calling import Caller
from tests.base import Cast
from tests.factories import make_conversation, make_message

pytestmark = pytest.mark.django_db


@pytest.fixture
def talk(cast: Cast) -> Conversation:
    return make_conversation(cast.alice, cast.support, title="Refund")


def address(talk: Conversation) -> str:
    return reverse("assistant:export-conversation", kwargs={"tenant": talk.tenant.slug, "thread": talk.pk})


def test_a_conversation_is_exported_as_json_and_markdown(talk: Conversation, alice_calls: Caller) -> None:
    make_message(talk, "user", "How long?")
    calls = [{"id": "c1", "name": "look_up", "arguments": '{"q": "```"}'}]
    make_message(talk, "assistant", "30 days.", tool_calls=calls)
    exported = alice_calls.get(f"conversations/{talk.pk}/export/").json()
    assert [one["content"] for one in exported["messages"]] == ["How long?", "30 days."]
    text = alice_calls.get(f"conversations/{talk.pk}/export/", format="markdown")
    assert text["Content-Type"] == "text/markdown; charset=utf-8"
    assert text.content.decode().startswith("# Refund\n\nWith Support.\n\nWhat stands under “Assistant” was")
    assert '````\n{"q": "```"}\n````' in text.content.decode()


def test_an_invalid_format_is_answered_with_the_valid_ones(talk: Conversation, alice_calls: Caller) -> None:
    exported = alice_calls.get(f"conversations/{talk.pk}/export/", format="word")
    assert exported.json()["fields"] == {"format": ['"word" is not one of "json", "markdown".']}


def test_the_export_has_all_branches(alice_calls: Caller, cast: Cast) -> None:
    talk = make_conversation(cast.alice, cast.support, message_count=3, branches=[[2, 1]], choices=[])
    for position, role in enumerate(("user", "assistant", "assistant")):
        make_message(talk, role, f"m{position}", position=position, message_id=f"m{position}")
    messages = alice_calls.get(f"conversations/{talk.pk}/export/").json()["messages"]
    assert [(one["id"], one.get("is_shown", True), one.get("follows")) for one in messages] == [
        ("m0", True, None),
        ("m1", False, None),
        ("m2", True, "m0"),
    ]
    text = alice_calls.get(f"conversations/{talk.pk}/export/", format="markdown").content.decode()
    assert text.count("*(not shown)*") == 1 and text.count("another version after the message of") == 1


def test_a_conversation_is_downloaded(client: Client, cast: Cast, talk: Conversation) -> None:
    client.force_login(cast.alice)
    make_message(talk, "user", "Where is it?")
    text = client.get(address(talk))
    assert "Where is it?" in text.content.decode() and 'filename="refund.md"' in text.headers["Content-Disposition"]
    found = client.get(f"{address(talk)}?format=json")
    assert found.json()["messages"][0]["content"] == "Where is it?"


def test_a_rivals_conversation_does_not_exist(client: Client, cast: Cast, talk: Conversation) -> None:
    client.force_login(cast.mallory)
    assert client.get(address(talk)).status_code == 404
    assert client.get(address(talk).replace("acme", "globex")).status_code == 404


def test_a_conversation_is_found_by_the_id_that_its_member_chose(
    client: Client, cast: Cast, talk: Conversation, alice_calls: Caller
) -> None:
    """Another member has a row with the id, of which the exports say nothing."""
    client.force_login(cast.alice)
    theirs = make_conversation(cast.mallory, cast.rival_support, title="Secret")
    make_message(theirs, "user", "Secret")
    asked = address(talk).replace(str(talk.pk), str(theirs.pk))
    over_rest = f"conversations/{theirs.pk}/export/"
    assert [client.get(asked).status_code, alice_calls.get(over_rest).status_code] == [404, 404]
    Conversation.objects.filter(pk=talk.pk).update(thread_key=str(theirs.pk))
    for found in (client.get(asked), alice_calls.get(over_rest)):
        assert found.status_code == 200 and "Secret" not in found.content.decode()


def test_the_chat_offers_the_exports_and_the_import(client: Client, cast: Cast, talk: Conversation) -> None:
    client.force_login(cast.alice)
    page = client.get(f"/t/acme/c/{talk.pk}/").content.decode()
    assert 'data-menu="markdown"' in page and 'data-menu="json"' in page and 'id="import"' in page

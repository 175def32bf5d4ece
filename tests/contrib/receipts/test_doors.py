"""Receipts beyond the chat: on REST, in exports, and as annotations of OpenAI's APIs, through their client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from openai import OpenAI

from assistant.models import Assistant, Provider
from tests.api.calling import Caller, key_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server, serve

pytestmark = pytest.mark.django_db(transaction=True)

ANSWER = "Parcel 77 weighs 12.5 kg, or 13.9."
HI: list[Any] = [{"role": "user", "content": "Where is it?"}]
LINK = {"title": "find_parcel", "url": "https://parcels.example/77"}


@pytest.fixture
def server(cast: Cast, provider: Provider, fake_provider: FakeProvider) -> Iterator[Server]:
    Assistant.objects.update(extensions=["receipts"])
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool"}) as running:
        yield running


@pytest.fixture
def client(server: Server, cast: Cast) -> Iterator[OpenAI]:
    key = key_of(cast.acme, cast.alice)
    with OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0, timeout=30) as client:
        yield client


def script(fake_provider: FakeProvider) -> None:
    fake_provider.call("find_parcel", {"number": 77})
    fake_provider.reply(ANSWER)


def places(annotations: Any) -> list[tuple[str, str]]:
    return [(ANSWER[one.start_index : one.end_index], one.url) for one in annotations]


def test_chat_completions_have_links_and_the_receipt(client: OpenAI, fake_provider: FakeProvider) -> None:
    script(fake_provider)
    message = client.chat.completions.create(model="support", messages=HI).choices[0].message
    assert places(one.url_citation for one in message.annotations or ()) == [
        ("77", LINK["url"]),
        ("12.5 kg", LINK["url"]),
    ]
    marks = message.model_extra["added"]["receipts"]["marks"]  # type: ignore[index]  # it has one
    assert [mark.get("reason", "") for mark in marks] == ["", "", "not_found"]
    script(fake_provider)
    chunks = list(client.chat.completions.create(model="support", messages=HI, stream=True))
    (told,) = [one for one in chunks if one.choices and "added" in (one.choices[0].delta.model_extra or {})]
    extra = told.choices[0].delta.model_extra or {}
    assert [one["url_citation"]["title"] for one in extra["annotations"]] == ["find_parcel", "find_parcel"]
    assert chunks.index(told) < next(n for n, one in enumerate(chunks) if one.choices[0].finish_reason)


def test_responses_have_annotations_in_the_stream_at_the_end_and_when_they_are_read(
    client: OpenAI, fake_provider: FakeProvider
) -> None:
    script(fake_provider)
    parts = list(client.responses.create(model="support", input="Where is it?", stream=True))
    added = [part for part in parts if part.type == "response.output_text.annotation.added"]
    assert places(_as_objects([part.annotation for part in added])) == [("77", LINK["url"]), ("12.5 kg", LINK["url"])]
    last = parts[-1]
    assert last.type == "response.completed"
    stored = client.responses.retrieve(last.response.id)
    for response in (last.response, stored):
        (text,) = [item.content[0] for item in response.output if item.type == "message"]
        assert text.type == "output_text" and places(text.annotations) == [
            ("77", LINK["url"]),
            ("12.5 kg", LINK["url"]),
        ]


def _as_objects(annotations: list[Any]) -> list[Any]:
    return [type("Annotation", (), one) if isinstance(one, dict) else one for one in annotations]


def without_titles(added: dict[str, Any]) -> dict[str, Any]:
    """Return what is added to an answer as this process says it, which has no tool of the server's."""
    for mark in added.get("receipts", {}).get("marks", ()):
        for source in mark["sources"]:
            assert source.pop("title", "find parcel") == "find parcel"
    return added


def test_rest_and_exports_have_them_and_others_do_not(server: Server, cast: Cast, fake_provider: FakeProvider) -> None:
    calls = Caller(cast.acme, cast.alice)
    made = calls("post", "conversations/", {"assistant": "support"}).json()["id"]
    script(fake_provider)
    headers = {"Authorization": f"Bearer {calls.key}"}
    address = f"{server.url}/api/v1/tenants/acme/conversations/{made}"
    run = httpx2.post(f"{address}/runs/", json={"message": "Where is it?"}, headers=headers, timeout=30).json()
    (answer,) = [one for one in run["messages"] if one["role"] == "assistant" and one["content"]]
    assert [mark["text"] for mark in answer["added"]["receipts"]["marks"]] == ["77", "12.5 kg", "13.9"]
    assert all(not one["added"] for one in run["messages"] if one is not answer)
    listed = calls("get", f"conversations/{made}/messages/").json()["results"]
    assert [one["added"] for one in listed] == [without_titles(one["added"]) for one in run["messages"]]
    exported = calls("get", f"conversations/{made}/export/").json()["messages"]
    assert [one.get("added", {}) for one in exported] == [one["added"] for one in listed]
    text = calls("get", f"conversations/{made}/export/?format=markdown").content.decode()
    assert "*(Looked up in: `find_parcel`. Not found in what was looked up: 13.9.)*" in text
    # Another's key reads nothing of it, and the addition off shows nothing.
    assert Caller(cast.globex, cast.mallory)("get", f"conversations/{made}/messages/").status_code == 404
    Assistant.objects.update(extensions=[])
    messages = calls("get", f"conversations/{made}/messages/").json()["results"]
    assert not any("receipts" in message["added"] for message in messages)

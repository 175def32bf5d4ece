"""Sentences that people read in the chat are in the language of the connection; codes are the same in all."""

from __future__ import annotations

import uuid

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings

from assistant.models import Provider
from assistant.websocket.handshake import MAX_REASON, close_reason, language_of
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("query", "header", "language"),
    [
        ("", "", "en"),
        ("language=de", "fr", "de"),
        ("language=zh-Hans", "", "zh-hans"),
        ("", "fr-CA,fr;q=0.9", "fr"),
        ("language=it", "fr", "fr"),
        ("language=" + "x" * 5000, "", "en"),
    ],
)
def test_the_page_decides_then_the_browser(query: str, header: str, language: str) -> None:
    headers = [(b"accept-language", header.encode())] if header else []
    assert language_of({"query_string": query.encode(), "headers": headers}) == language


def test_a_reason_that_is_too_long_for_a_close_frame_is_in_english() -> None:
    assert close_reason("Too many connections.", "ا" * 60) == "ا" * 60
    assert close_reason("Too many connections.", "ا" * MAX_REASON) == "Too many connections."


@pytest.mark.server
async def test_a_refusal_is_in_the_connections_language(uvicorn_server: Server, cast: Cast) -> None:
    attach = {"type": "attach", "threadId": str(uuid.uuid4())}
    for query, sentence in (
        ("?language=de", "Eine solche Unterhaltung gibt es nicht."),
        ("", "There is no such conversation."),
    ):
        async with open_socket(uvicorn_server.url, user=cast.alice, query=query) as socket:
            await socket.send(attach)
            (refusal,) = await socket.until_end()
            assert (refusal["code"], refusal["message"]) == ("thread_not_found", sentence)


@pytest.mark.server
async def test_a_run_speaks_the_language_of_who_began_it(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "2 + 3"})
    async with open_socket(uvicorn_server.url, user=cast.alice, query="?language=de") as socket:
        frames = await socket.ask("Was ist 2 + 3?")
    (interrupt,) = frames[-1]["outcome"]["interrupts"]
    assert interrupt["metadata"]["title"] == "Berechnen"
    assert interrupt["message"].startswith("Der Assistent möchte „Berechnen“ verwenden.")
    assert settings.LANGUAGE_CODE == "en"

"""Gaps end to end: asked in a chat and not found, labelled, written, answered, disliked, never reached."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from assistant.contrib.gaps.models import QuestionLabel, ReachedDocument
from assistant.contrib.gaps.services.recording import record_tenant
from assistant.models import Document, Message, Provider
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import Socket, open_socket

pytestmark = [pytest.mark.asyncio]
PAGE = "/admin/assistant_gaps/openquestion/"
QUESTION = "May I bring my dog?"


@pytest.fixture
def chats(uvicorn_server: Server, provider: Provider, cast: Cast) -> Server:
    switch_tool(cast.acme, "search_docs")
    add_document(tenant=cast.acme, title="Opening hours", text="We open at nine in the morning.")
    add_document(tenant=cast.globex, title="Dogs", text="Dogs are welcome on the premises of Globex.")
    return uvicorn_server


def results_of(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what a search has found, as the chat was told."""
    texts = [frame["content"] for frame in frames if frame["type"] == "TOOL_CALL_RESULT"]
    return list(json.loads(texts[0])["results"])


async def asked(socket: Socket, model: FakeProvider, question: str, *queries: str) -> list[dict[str, Any]]:
    model.call("search_docs", {"queries": list(queries)})
    model.reply("This is what I know.")
    return results_of(await socket.ask(question))


@sync_to_async
def gaps_page(cast: Cast, user: str = "amy", **post: Any) -> str:
    """Record what was asked, and return the page as an admin sees it; `post` is sent first."""
    for tenant in (cast.acme, cast.globex):
        record_tenant(tenant_id=tenant.pk, now=timezone.now())
    client = Client()
    client.force_login(getattr(cast, user))
    if post:
        client.post(PAGE, post)
    return client.get(PAGE).content.decode()


async def test_a_question_that_nothing_answers_is_shown_labelled_written_and_answered(
    chats: Server, fake_provider: FakeProvider, cast: Cast
) -> None:
    async with open_socket(chats.url, user=cast.alice) as alice:
        assert await asked(alice, fake_provider, QUESTION, "dogs on the premises") == []
        page = await gaps_page(cast)
        assert QUESTION in page and "nothing was found" in page and "Opening hours" in page
        assert QUESTION not in await gaps_page(cast, "greta")
        written = await sync_to_async(add_document)(
            tenant=cast.acme, title=QUESTION, text="Dogs are not allowed on the premises.", is_trusted=True
        )
        row = page.partition('name="of" value="')[2].partition('"')[0]
        page = await gaps_page(cast, of=row, document=QUESTION)
        assert "nothing was found" not in page
        label = await QuestionLabel.objects.aget()
        assert (label.document_id, label.wordings) == (written.pk, ["dogs on the premises"])
        found = await asked(alice, fake_provider, "Are dogs allowed?", "dogs on the premises")
    assert "not allowed" in found[0]["text"] and len(found) == 1
    page = await gaps_page(cast)
    unreached = page.partition('id="gaps-unreached"')[2].partition("</section>")[0]
    assert "Opening hours" in unreached and QUESTION not in unreached
    assert (await ReachedDocument.objects.aget()).document_id == written.pk


async def test_an_answer_out_of_documents_that_is_disliked_is_shown(
    chats: Server, fake_provider: FakeProvider, cast: Cast
) -> None:
    async with open_socket(chats.url, user=cast.alice) as alice:
        assert await asked(alice, fake_provider, "When do you open?", "open in the morning")
        assert "When do you open?" not in await gaps_page(cast)
        answer = await Message.objects.select_related("conversation").alatest("pk")
        rate = f"/api/v1/tenants/acme/conversations/{answer.conversation_id}/messages/{answer.message_id}/feedback/"
        client = Client()
        await sync_to_async(client.force_login)(cast.alice)
        put = sync_to_async(client.put)
        assert (await put(rate, {"rating": -1}, content_type="application/json")).status_code == 200
    page = await gaps_page(cast)
    assert "When do you open?" in page and "found, and disliked" in page
    assert await Document.objects.filter(tenant=cast.acme).acount() == 1

"""*Why this answer?*: what the sentence names, to whom, and in which language."""

from __future__ import annotations

import json
import re

import pytest
from asgiref.sync import sync_to_async

from assistant.models import Conversation, Document, Message, Provider, Run, ToolCall
from assistant.services.conversations import added_details
from assistant.services.knowledge.documents import add_document
from assistant.services.runs.reading.answer_details import answer_details
from assistant.services.tenancy.members import Member
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_answer_details import HTML, details_of, prepare_returns, server
from tests.ws import open_socket

__all__ = ["server"]
pytestmark = [pytest.mark.django_db(transaction=True)]
in_db = sync_to_async


async def test_why_names_tools_tenant_documents_and_what_was_left_out(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await prepare_returns(cast, fake_provider)
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("How long?", **HTML)
        (about, *_) = await details_of(socket)
        assert about["why"] == "This answer used Search documents, with data of Acme; it cites Returns."
        call = await ToolCall.objects.aget()
        for name, status in (("pay_out", "refused"), ("made_up", "timeout"), ("asked_for", "awaiting_approval")):
            await ToolCall.objects.acreate(tenant=cast.acme, run_id=call.run_id, call_id=name, name=name, status=status)
        await ToolCall.objects.filter(pk=call.pk).aupdate(told="Four")
        await Conversation.objects.aupdate(tools_off=["find_parcel"])
        await socket.attach(frames[0]["threadId"], render="html")
        (about, *_) = await details_of(socket)
    left_out = (
        "a part of what Search documents returned, pay out (Refused), made up (Timed out), "
        "find parcel (off in this conversation)"
    )
    assert about["why"].endswith(f"; it cites Returns; left out: {left_out}.")


async def test_why_names_documents_that_were_only_looked_at_while_the_reader_may_see_them(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await prepare_returns(cast, fake_provider)
    for title, text in (("Shipping", "Returns go to Linz by parcel."), ("Warranty", "Broken lamps: see returns.")):
        await in_db(add_document)(tenant=cast.acme, title=title, text=text, is_trusted=True)
    rival = await in_db(add_document)(tenant=cast.globex, title="Rival", text="Returns.", is_trusted=True)
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("How long?", **HTML)
        (about, *_) = await details_of(socket)
        looked_at = re.search("; it cites Returns; looked at and not cited: (.+)\\.", about["why"])
        assert looked_at and set(looked_at[1].split(", ")) == {"Shipping", "Warranty"}

        async def why() -> str:
            await socket.attach(frames[0]["threadId"], render="html")
            return str((await details_of(socket))[0]["why"])

        # Not one that has been deleted, nor one of another tenant, whatever a tool says that it has found.
        await Document.objects.filter(title="Shipping").adelete()
        result = await Message.objects.aget(role="tool")
        found = json.loads(result.content)
        forged = {"number": "9.9", "source_id": f"doc-{rival.pk}.1", "source": "Forged", "text": "Returns."}
        result.content = json.dumps({**found, "results": [*found["results"], forged]})
        await result.asave(update_fields=["content"])
        assert (await why()).endswith("; looked at and not cited: Warranty.")
        # Nor by a tool that the reader may not use any more.
        await in_db(switch_tool)(cast.acme, "search_docs", "off")
        assert (await why()).endswith("; it cites Returns.")


async def test_why_is_said_in_the_readers_language_and_is_bounded(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hi", **HTML)
        (about,) = await details_of(socket)
    none = "This answer used no tool: it comes from the model and this conversation with Acme."
    assert about["why"] == none and "model" not in about
    run = await Run.objects.aget()
    calls = [
        ToolCall(tenant=cast.acme, run=run, call_id=f"c{number}", name=f"tool_{number}_" + "x" * 100, status="ok")
        for number in range(60)
    ]
    await ToolCall.objects.abulk_create(calls)
    async with open_socket(server.url, user=cast.alice, query="?language=de") as socket:
        await socket.attach(frames[0]["threadId"], render="html")
        (about,) = await details_of(socket)
    assert about["why"].startswith("Diese Antwort") and "52" in about["why"] and len(about["why"]) < 1_000
    async with open_socket(server.url, user=cast.alice, query="?language=ar") as socket:
        await socket.attach(frames[0]["threadId"], render="html")
        (about,) = await details_of(socket)
    assert "\u2068Acme\u2069" in about["why"]


async def test_without_the_app_nothing_is_said(
    server: Server,
    cast: Cast,
    provider: Provider,
    fake_provider: FakeProvider,
    alice_member: Member,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.ask("Hi", **HTML)
    thread = (await Conversation.objects.aget()).pk
    (about,) = await in_db(answer_details)(member=alice_member, thread_id=thread)
    monkeypatch.setattr(added_details, "_explaining", [])
    (without,) = await in_db(answer_details)(member=alice_member, thread_id=thread)
    assert about == {**without, "why": about["why"]} and "why" not in without

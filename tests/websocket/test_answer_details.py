"""What is sent about answers, and ratings given over the websocket."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from assistant.models import Feedback, Message, Provider, Tenant
from assistant.services.knowledge.documents import add_document
from tests.agui import Frame
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_answers import citing
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.providers.responses import wire as responses_wire
from tests.services.files import samples
from tests.websocket.test_attachments import part, upload, with_parts
from tests.ws import Socket, open_socket

pytestmark = [pytest.mark.django_db(transaction=True)]
in_db = sync_to_async
HTML = {"forwardedProps": {"render": "html"}}


@pytest.fixture
def server(uvicorn_server: Server) -> Server:
    return uvicorn_server


async def details_of(socket: Socket) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await socket.until_custom("message.details"))["value"]["messages"]
    return found


async def rate(socket: Socket, thread: str, message: str, **fields: Any) -> Frame:
    await socket.send({"type": "feedback", "threadId": thread, "messageId": message, **fields})
    return await socket.until_custom("feedback")


async def test_a_rendering_client_is_told_about_answers_at_the_end_and_with_a_snapshot(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello.")
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hi", **HTML)
        (live,) = await details_of(socket)
        assert "model" not in live and live["createdAt"].endswith("Z") and "usage" not in live
        assert live["messageId"] in {frame.get("messageId") for frame in frames}
        await rate(socket, frames[0]["threadId"], live["messageId"], rating=-1, comment="Too short")
        await socket.attach(frames[0]["threadId"], render="html")
        (later,) = await details_of(socket)
    assert later == {**live, "feedback": {"rating": -1, "comment": "Too short"}}


async def test_what_the_provider_names_as_its_sources_is_told(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Provider.objects.aupdate(wire_format="responses")
    said = responses_wire.says("An umbrella.")
    said["content"][0]["annotations"] = [{"type": "url_citation", "url": "https://example.com/", "title": "Umbrellas"}]
    fake_provider.queue(responses_wire.answer(said))
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.ask("What is it?", **HTML)
        (answer,) = await details_of(socket)
    (source,) = answer["sources"]
    assert (source["number"], source["source_id"], source["source"]) == ("1", "https://example.com/", "Umbrellas")


async def test_tokens_and_cost_are_told_if_the_tenant_shows_them(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(Tenant.objects.filter(pk=cast.acme.pk).update)(shows_usage=True)
    await in_db(Provider.objects.filter(pk=provider.pk).update)(prices={"": {"input": 1_000, "output": 1_000}})
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.ask("Hi", **HTML)
        (about,) = await details_of(socket)
    assert about["usage"]["inputTokens"] > 0 and about["usage"]["outputTokens"] > 0 and about["usage"]["cost"] > 0


async def test_a_rating_is_kept_replaced_and_taken_back(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hi", **HTML)
        thread, answer = frames[0]["threadId"], (await details_of(socket))[0]["messageId"]
        assert (await rate(socket, thread, answer, rating=1))["value"]["rating"] == 1
        await rate(socket, thread, answer, rating=-1, comment="No")
        stored = await Feedback.objects.select_related("tenant", "user").aget()
        assert (stored.rating, stored.comment, stored.user, stored.tenant) == (-1, "No", cast.alice, cast.acme)
        await rate(socket, thread, answer, rating=0)
        assert not await Feedback.objects.aexists()


@pytest.mark.parametrize("fields", [{"rating": 2}, {"rating": True}, {"rating": 1, "comment": 5}, {}], ids=str)
async def test_a_rating_of_another_form_is_refused(
    fields: dict[str, Any], server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hi")
        await socket.send({"type": "feedback", "threadId": frames[0]["threadId"], "messageId": "m", **fields})
        assert (await socket.until_custom("protocol_error"))["value"]["code"] == "invalid_frame"


async def test_nobody_rates_the_answers_of_others(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hi", **HTML)
        thread, answer = frames[0]["threadId"], (await details_of(socket))[0]["messageId"]
    for tenant, user in (("acme", cast.amy), ("globex", cast.mallory)):
        async with open_socket(server.url, tenant=tenant, user=user) as other:
            assert "error" in (await rate(other, thread, answer, rating=1))["value"]
            await other.attach(thread, render="html")
            assert (await other.until_type("RUN_ERROR"))[-1]["code"] == "thread_not_found"
            assert not [frame for frame in other.frames if frame.get("name") == "message.details"]
    assert not await Feedback.objects.aexists()
    question = await in_db(Message.objects.get)(role="user")
    async with open_socket(server.url, user=cast.alice) as socket:
        assert "error" in (await rate(socket, thread, question.message_id, rating=1))["value"]


async def prepare_returns(cast: Cast, fake_provider: FakeProvider) -> None:
    """Give Acme a document on returns, and have the next answer search for it and cite it."""
    await in_db(switch_tool)(cast.acme, "search_docs")
    await in_db(add_document)(tenant=cast.acme, title="Returns", text="Fourteen days for returns.", is_trusted=True)
    fake_provider.call("search_docs", {"queries": ["returns"]})
    fake_provider.queue(citing("Fourteen days for returns."))


async def test_no_number_leads_to_another_tenants_passage(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await prepare_returns(cast, fake_provider)
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("How long?", **HTML)
        (about, *_) = await details_of(socket)
    number = about["sources"][0]["number"]
    assert [one["source"] for one in about["sources"]] == ["Returns"]
    assert f"[{number}]" in "".join(frame.get("delta", "") for frame in frames)
    fake_provider.reply(f"Fourteen days [{number}].")
    async with open_socket(server.url, tenant="globex", user=cast.mallory) as socket:
        await socket.ask("How long?", **HTML)
        assert all("sources" not in one for one in await details_of(socket))


async def test_an_answer_names_the_passages_of_attached_files_that_it_stands_on(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    slides = await upload(server, cast, "plan.pptx", samples.PPTX)
    pages = await upload(server, cast, "valve.pdf", samples.PDF)
    fake_provider.queue(citing("Turn the valve twice.", "Rent: 900 & more"))

    async with open_socket(server.url, user=cast.alice) as socket:
        frame = with_parts("What do I do?", part(slides), part(pages), **HTML)
        await socket.send(frame)
        (about,) = await details_of(socket)
        told = fake_provider.requests[-1].json["messages"][-1]["content"]
        fake_provider.reply("Turn the valve twice. The rent is 900 and more, as plan.pptx says [99].")
        await socket.ask("Thank you", thread=frame["threadId"], **HTML)
        (thanked,) = await details_of(socket)
        await socket.attach(frame["threadId"], render="html")
        first, second = await details_of(socket)
    assert [(one["source"], one["page"], one["heading"]) for one in about["sources"]] == [
        ("valve.pdf", 2, ""), ("plan.pptx", None, "Slide 2: Costs"),
    ]  # fmt: skip
    assert [one["number"] for one in about["sources"]] == ["4", "2"]
    assert about["sources"][0]["text"] == "Turn the valve twice." and about["sources"] == first["sources"]
    assert thanked == second and "sources" not in second
    assert "Put the number of a passage in brackets" in told and "# Slide 2: Costs" in told

"""A member's chat shows nothing of a collection that is closed to them; an admin's does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from assistant.contrib.collections.models import Collection
from assistant.contrib.collections.services.placing import place_documents
from assistant.models import Document
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.browser.acts import answered, ask, fits
from tests.browser.conftest import Visitor, make_visitor
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import session_cookie

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
SECRET = "The merger with Initech closes in May."
PICTURES = os.environ.get("PICTURES", "")


@pytest.fixture
def merger(cast: Cast) -> Document:
    for tool in ("search_docs", "search_collections", "read_document"):
        switch_tool(cast.acme, tool)
    add_document(tenant=cast.acme, title="Hours", text="The shop opens at nine.", is_trusted=True)
    document = add_document(tenant=cast.acme, title="Merger plan", text=SECRET, is_trusted=True)
    board = Collection.objects.create(tenant=cast.acme, name="Board papers", roles=["admin", "owner"])
    place_documents(tenant=cast.acme, document_ids=[document.pk], collection=board, actor=cast.amy)
    return document


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def asked(page: Page, model: FakeProvider, merger: Document) -> str:
    """Have the assistant look for the document in each way, and return all that the model and the page were told."""
    before = len(model.requests)
    model.call("search_docs", {"queries": ["merger Initech May"]})
    model.call("search_collections", {"queries": ["merger"], "collection": "Board papers"})
    model.call("read_document", {"id": merger.pk})
    model.reply(f"This is what I know [{merger.pk}.1].")
    await ask(page, "When is it?")
    await answered(page)
    for card in await page.locator(".answer details").all():
        await card.evaluate("(element) => { element.open = true; }")
    told = [request.body.decode() for request in model.requests[before:]]
    return "\n".join((*told, await page.locator("body").inner_text()))


async def test_a_member_is_told_neither_title_nor_name_nor_text(
    page: Page, fake_provider: FakeProvider, merger: Document
) -> None:
    told = await asked(page, fake_provider, merger)
    assert "closes in May" not in told and "Merger plan" not in told
    assert "There is 1 in English" in told or "There are 1" in told or "1 in English" in told
    # The name is in what the model asked for, and in the sentence that there is no such collection.
    assert "There is no collection" in told and "There is no passage" in told
    await picture(page, "closed-to-a-member")
    await page.set_viewport_size({"width": 390, "height": 844})
    assert await fits(page)
    await picture(page, "closed-to-a-member-phone")
    await page.reload()
    await expect(page.locator(".answer")).to_have_count(1)
    assert "Merger plan" not in await page.locator("body").inner_text()


async def test_an_admin_finds_it(
    browser: Browser, site: Server, fake_provider: FakeProvider, merger: Document, cast: Cast
) -> None:
    visitor: Visitor = await make_visitor(browser, site.url)
    name, _, value = (await sync_to_async(session_cookie)(cast.amy)).partition("=")
    await visitor.context.add_cookies([{"name": name, "value": value, "url": site.url}])
    page = await visitor.open()
    told = await asked(page, fake_provider, merger)
    assert "closes in May" in told and "Merger plan" in told and "Board papers" in told
    await picture(page, "open-to-an-admin")
    await visitor.context.close()
    assert visitor.problems == []

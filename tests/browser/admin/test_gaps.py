"""Gaps in a browser: asked in the chat and not found, written from its line, labelled, answered, and disliked."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from playwright.async_api import Browser, Page, expect

from assistant.contrib.gaps.models import OpenQuestion
from assistant.contrib.gaps.services.recording import record_tenant
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.browser.acts import answered, ask, fits
from tests.browser.admin.test_model_pages import enter
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
PAGE = "/admin/assistant_gaps/openquestion/"
QUESTION = "May I bring my dog?"
PICTURES = os.environ.get("PICTURES", "")


async def pictures(page: Page, name: str) -> None:
    """Take pictures, light, dark and as a phone has it, if somebody wants to look at them."""
    await page.set_viewport_size({"width": 390, "height": 844})
    assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}-phone.png", full_page=True)
    await page.set_viewport_size({"width": 1280, "height": 900})
    for scheme in ("dark", "light") if PICTURES else ():
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of the two
        await page.screenshot(path=Path(PICTURES) / f"{name}-{scheme}.png", full_page=True)


async def asked(page: Page, model: FakeProvider, question: str, query: str) -> None:
    model.call("search_docs", {"queries": [query]})
    model.reply("This is what I know.")
    await ask(page, question)
    await answered(page)


async def recorded(cast: Cast, *, kind: str) -> None:
    """Record until there is an open question: a page shows a rating before the server has stored it."""
    async with asyncio.timeout(60):
        while True:
            await sync_to_async(record_tenant)(tenant_id=cast.acme.pk, now=timezone.now())
            if await OpenQuestion.objects.filter(tenant=cast.acme, kind=kind).aexists():
                return
            await asyncio.sleep(0.2)


async def test_a_gap_is_closed_from_its_line_and_a_disliked_answer_opens_one(
    page: Page, browser: Browser, site: Server, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "search_docs")
    await sync_to_async(add_document)(tenant=cast.acme, title="Opening hours", text="We open at nine in the morning.")
    await asked(page, fake_provider, QUESTION, "dogs on the premises")
    await recorded(cast, kind=OpenQuestion.Kind.NOTHING)
    amys = await enter(browser, site.url, "amy")
    admin = await amys.open(PAGE)
    line = admin.get_by_role("listitem").filter(has_text=QUESTION)
    await expect(line).to_contain_text("nothing was found")
    await expect(admin.locator("section", has_text="no question has reached")).to_contain_text("Opening hours")
    await pictures(admin, "gaps-open")
    await line.get_by_role("link", name="Write or upload").click()
    await expect(admin.get_by_label("Title")).to_have_value(QUESTION)
    await admin.get_by_label("Text", exact=False).last.fill("Dogs are not allowed on the premises.")
    await admin.get_by_role("button", name="Save", exact=True).click()
    await admin.goto(site.url + PAGE)
    await line.get_by_label("Answered by").fill(QUESTION)
    await line.get_by_role("button", name="Set").click()
    await expect(admin.get_by_text("The question has a label now.")).to_be_visible()
    await expect(admin.get_by_text("nothing was found")).to_have_count(0)
    await expect(admin.get_by_role("radio")).to_be_checked()
    await pictures(admin, "gaps-passage")
    await admin.get_by_role("button", name="This passage").click()
    await expect(admin.get_by_text("The label names the passage now.")).to_be_visible()
    await admin.get_by_role("button", name="Measure by the labels").click()
    await expect(admin.get_by_role("heading", name="By the passage that the label names")).to_be_visible()
    await pictures(admin, "gaps-closed")
    await asked(page, fake_provider, "Are dogs allowed?", "dogs on the premises")
    assert "not allowed on the premises" in str(fake_provider.requests[-1].body)
    bad = page.get_by_role("button", name="Bad answer")
    await expect(bad).to_have_count(2)
    await bad.last.click()
    await expect(bad.last).to_have_attribute("aria-pressed", "true")
    await recorded(cast, kind=OpenQuestion.Kind.DISLIKED)
    await admin.goto(site.url + PAGE)
    disliked = admin.get_by_role("listitem").filter(has_text="Are dogs allowed?")
    await expect(disliked).to_contain_text("found, and disliked")
    await pictures(admin, "gaps-disliked")
    assert await fits(page)
    await amys.context.close()
    assert amys.problems == []

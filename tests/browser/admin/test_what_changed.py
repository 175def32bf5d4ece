"""The planted story: a prompt version and a switched-off tool that spoil a tenant are found and taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.utils import timezone
from playwright.async_api import Browser, expect

from assistant.contrib.insights.models import QualityWarning
from assistant.models import PromptVersion, ToolSetting
from tests.base import Cast
from tests.browser.admin.counted import Story, check
from tests.browser.admin.test_model_pages import enter
from tests.browser.conftest import Visitor
from tests.contrib.insights.story import plant
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def amys(browser: Browser, site: Server, cast: Cast) -> AsyncIterator[Visitor]:
    visitor = await enter(browser, site.url, "amy", viewport={"width": 390, "height": 844})
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


def warned(cast: Cast) -> None:
    plant(cast)
    QualityWarning.objects.create(
        tenant=cast.acme, assistant=cast.support, measure="disliked", day=timezone.now(), runs=40, share=300,
        earlier_share=50,
    )  # fmt: skip


async def test_what_spoiled_an_assistant_is_found_and_taken_back(amys: Visitor, cast: Cast) -> None:
    await sync_to_async(warned)(cast)
    story = Story(amys)
    page = await story.begin()
    await page.get_by_role("link", name="Support: disliked 30 %").click()
    first = page.locator(".what", has_text="Disliked").locator(".what-suspects > li").first
    await expect(first).to_contain_text("support v2")
    await expect(page.locator(".what", has_text="Tool refused").locator(".what-suspects > li").first).to_contain_text(
        "refund"
    )
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.get_by_role("button", name="Take all 2 back").click()
    await expect(page.locator(".messagelist")).to_contain_text("is switched back")
    published = await PromptVersion.objects.aget(assistant=cast.support, status="published")
    assert published.number == 1
    assert (await ToolSetting.objects.aget(tenant=cast.acme, tool="refund")).policy == "on"
    check("What spoiled an assistant found, and taken back", story.clicks, 2)


async def test_a_mark_of_the_quality_line_leads_there(amys: Visitor, cast: Cast) -> None:
    await sync_to_async(plant)(cast)
    page = await amys.open(f"/admin/assistant_insights/daysum/?assistant={cast.support.pk}")
    await page.locator(".chart-change a").first.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Disliked")).to_be_visible()
    await expect(page.get_by_role("button", name="Roll back support v2")).to_be_visible()

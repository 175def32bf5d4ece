"""A conversation's page in the browser: bars where the time was spent, on a desktop and on a phone, by keyboard."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from playwright.async_api import Browser, expect

from assistant.models import Message, Run, RunConfiguration
from tests.base import Cast
from tests.browser.admin.test_model_pages import enter
from tests.contrib.panel.conftest import say_something
from tests.contrib.panel.conversations.test_conversation_page import CONFIGURATION, TIMELINE
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

LONG = "| a | b |\n|---|---|\n| " + "word " * 60 + "| x |\n\n```python\n" + "x = 1 " * 80 + "\n```\n\n" + "y" * 400


def recorded(cast: Cast) -> Run:
    run = say_something(cast)
    RunConfiguration.objects.create(tenant=cast.acme, digest="d", content=CONFIGURATION, used_at=timezone.now())
    Run.objects.filter(pk=run.pk).update(timeline=TIMELINE, configuration="d")
    Message.objects.filter(run=run, role="assistant").update(content=LONG)
    return run


@pytest.mark.parametrize(("width", "scheme"), [(1366, "light"), (390, "dark")])
async def test_the_thread_and_its_waterfall_fit_the_window(
    browser: Browser, uvicorn_server: Server, cast: Cast, width: int, scheme: str
) -> None:
    run = await sync_to_async(recorded)(cast)
    amy = await enter(browser, uvicorn_server.url, "amy", viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = await amy.open(f"/admin/assistant/conversation/{run.conversation_id}/change/")
    assert await page.evaluate("document.documentElement.scrollWidth") == width
    bars = page.locator(".steps .bar")
    await expect(bars).to_have_count(3)
    asked, ran, answered = [await bars.nth(number).locator("rect").last.bounding_box() for number in range(3)]
    assert asked and ran and answered
    assert asked["x"] < ran["x"] < answered["x"], "later steps stand further right"
    assert ran["width"] > answered["width"] > 0, "580 ms are wider than 50 ms"
    step = await page.locator(".steps tbody th").first.bounding_box()
    assert step and step["width"] > 80
    summary = page.get_by_text("Configuration of that moment")
    await summary.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("The tenant has switched it on.")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") == width
    await amy.context.close()
    assert amy.problems == []

"""How pages of the control panel look on a phone, in German, where words are long."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Locator, Page, expect

from tests.base import Cast
from tests.browser.admin.test_model_pages import enter
from tests.browser.conftest import Visitor
from tests.contrib.panel.inbox.test_inbox import waiting
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

PHONE = {"width": 390, "height": 844}


async def enter_in_german(browser: Browser, site: Server) -> Visitor:
    visitor = await enter(browser, site.url, "root", viewport=PHONE)
    await visitor.context.set_extra_http_headers({"Accept-Language": "de"})
    return visitor


async def fits(box: Locator) -> bool:
    return bool(await box.evaluate("one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight"))


async def test_the_tools_to_choose_from_scroll_within_themselves(
    browser: Browser, uvicorn_server: Server, cast: Cast
) -> None:
    visitor = await enter_in_german(browser, uvicorn_server)
    page = await visitor.open("/admin/assistant/toolsetting/add/")
    await expect(page.locator(".choices")).to_contain_text("get_customer")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await visitor.context.close()
    assert visitor.problems == []


async def test_the_buttons_of_the_inbox_hold_their_words(browser: Browser, uvicorn_server: Server, cast: Cast) -> None:
    await sync_to_async(waiting)(cast, expression="1+1")
    visitor = await enter_in_german(browser, uvicorn_server)
    page = await visitor.open("/admin/assistant/approval/")
    buttons = page.locator("#changelist .actions button[name=action]")
    await expect(buttons.first).to_contain_text("genehmigen")
    assert [await fits(one) for one in await buttons.all()] == [True, True]
    await visitor.context.close()


async def test_the_sign_in_page_has_the_panels_colours(browser: Browser, uvicorn_server: Server) -> None:
    page = await browser.new_page()
    await page.goto(f"{uvicorn_server.url}/admin/login/")
    assert await _colour(page, "#header") == "rgb(246, 248, 247)"
    await page.close()


async def _colour(page: Page, selector: str) -> str:
    return str(await page.locator(selector).evaluate("one => getComputedStyle(one).backgroundColor"))

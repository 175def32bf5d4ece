"""Lists of the panel by hand: a look at a row, the palette, and what was typed when one was signed out."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, expect

from tests.base import PASSWORD, Cast
from tests.browser.admin.test_model_pages import enter
from tests.browser.conftest import Visitor
from tests.contrib.panel.conftest import fill
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
RUNS = "/admin/assistant/run/"
LISTS = ("tenant", "assistant", "conversation", "run", "toolcall", "feedback", "membership", "apikey", "auditentry")


@pytest_asyncio.fixture(loop_scope="session")
async def root(browser: Browser, uvicorn_server: Server, cast: Cast) -> AsyncIterator[Visitor]:
    await sync_to_async(fill)(cast, 3)
    visitor = await enter(browser, uvicorn_server.url, "root")
    yield visitor
    await visitor.context.close()


async def test_a_row_is_looked_at_beside_the_list_and_then_the_next(root: Visitor) -> None:
    page = await root.open(RUNS)
    await page.locator("a.look").first.click()
    pane = page.locator("dialog.look-pane")
    await expect(pane).to_contain_text("At nine.")
    await page.keyboard.press("ArrowDown")
    await expect(page.locator("tr.is-looked-at")).to_have_count(1)
    await expect(page.locator("#result_list tbody tr").nth(1)).to_have_class("is-looked-at")
    await page.keyboard.press("Escape")
    await expect(pane).to_be_hidden()
    await expect(page.locator("a.look").nth(1)).to_be_focused()


async def test_the_palette_goes_to_pages_and_rows_by_keys_alone(root: Visitor) -> None:
    page = await root.open("/admin/")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("audit")
    await expect(page.locator("#palette-list").get_by_role("option", selected=True)).to_contain_text("Audit entries")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{root.origin}/admin/assistant/auditentry/")
    await page.wait_for_load_state("networkidle")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("alice")
    await expect(page.get_by_role("group", name="People")).to_contain_text("alice")
    await page.keyboard.press("Escape")
    await expect(page.locator("#palette-list")).to_be_hidden()


async def test_what_was_typed_comes_back_after_a_sign_in(root: Visitor, cast: Cast) -> None:
    address = f"/admin/assistant/tenant/{cast.acme.pk}/change/"
    page = await root.open(address)
    await page.get_by_label("Name", exact=False).first.fill("Acme and sons")
    await root.context.clear_cookies()
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.goto(f"{root.origin}/admin/login/?next={address}")
    await page.get_by_label("Username").fill("root")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_role("button", name="Put it back").click()
    await expect(page.get_by_label("Name", exact=False).first).to_have_value("Acme and sons")


async def test_on_a_phone_the_first_row_stands_in_the_first_third(
    browser: Browser, uvicorn_server: Server, cast: Cast
) -> None:
    await sync_to_async(fill)(cast, 2)
    phone = {"width": 390, "height": 844}
    visitor = await enter(browser, uvicorn_server.url, "root", viewport=phone)
    for name in LISTS:
        page = await visitor.open(f"/admin/assistant/{name}/")
        row = await page.locator("#result_list tbody tr").first.bounding_box()
        assert row is not None and row["y"] <= phone["height"] / 3, name
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        await page.close()
    await visitor.context.close()

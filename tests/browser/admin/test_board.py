"""The board of tools in the browser: arrow keys, Space, selections with who is affected, undo, and few clicks."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from assistant.models import ToolBlock, ToolSetting
from tests.base import Cast
from tests.browser.admin.test_model_pages import enter
from tests.browser.conftest import Visitor
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

BOARD = "/admin/assistant/toolsetting/switchboard/"
TOOL = "get_customer"


@pytest_asyncio.fixture(loop_scope="session")
async def roots(browser: Browser, uvicorn_server: Server, cast: Cast) -> AsyncIterator[Visitor]:
    visitor = await enter(browser, uvicorn_server.url, "root", viewport={"width": 1366, "height": 900})
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


async def column_of(page: Page, tool: str = TOOL) -> int:
    names = await page.locator("thead th[data-tool]").evaluate_all("cells => cells.map(one => one.dataset.tool)")
    return int(names.index(tool))


async def cell(page: Page, tenant: str, tool: str = TOOL) -> Locator:
    row = page.locator(".grid tbody tr", has=page.get_by_role("link", name=tenant, exact=True))
    return row.locator("td").nth(await column_of(page, tool))


async def stored(tool: str = TOOL) -> dict[str, str]:
    rows = ToolSetting.objects.filter(tool=tool).values_list("tenant__slug", "policy")
    return {slug: policy async for slug, policy in rows}


async def test_space_turns_the_cell_that_the_arrows_reach_and_control_z_takes_it_back(
    roots: Visitor, cast: Cast
) -> None:
    page = await roots.open(BOARD)
    await (await cell(page, "Acme")).click()
    await page.keyboard.press("ArrowDown")
    globex = await cell(page, "Globex")
    await expect(globex).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowLeft")
    await expect(globex).to_be_focused()
    await page.keyboard.press("Space")  # off becomes on
    await page.keyboard.press("Space")  # and on becomes ask, without waiting for the first answer
    await expect(globex).to_have_class("ask own own-ask")
    await expect(page.locator(".board-about")).to_contain_text("Set to ask first for the tenant.")
    await expect(page.locator(".board-about")).to_contain_text("Last set by root")
    assert await stored() == {"globex": "ask"}
    await page.keyboard.press("Control+z")
    await expect(page.locator(".messagelist")).to_contain_text("1 switch is as before.")
    assert await stored() == {"globex": "on"}


async def test_an_arrow_leads_from_a_head_into_the_cells(roots: Visitor, cast: Cast) -> None:
    page = await roots.open(BOARD)
    await page.locator("thead").get_by_role("link", name=TOOL, exact=True).focus()
    await page.keyboard.press("ArrowDown")
    await expect(await cell(page, "Acme")).to_be_focused()
    await page.get_by_role("checkbox", name="Select Globex").focus()
    await page.keyboard.press("ArrowRight")
    await expect(page.locator(".grid tbody tr", has_text="Globex").locator("td").first).to_be_focused()


async def test_delete_removes_the_switch(roots: Visitor, cast: Cast) -> None:
    await ToolSetting.objects.acreate(tenant=cast.acme, tool=TOOL, policy="on")
    page = await roots.open(BOARD)
    acme = await cell(page, "Acme")
    await acme.click()
    await page.keyboard.press("Delete")
    await expect(acme).to_have_class("off")
    assert await stored() == {}


async def test_a_selection_of_two_tenants_shows_who_is_affected_first(roots: Visitor, cast: Cast) -> None:
    page = await roots.open(BOARD)
    await (await cell(page, "Acme")).click()
    await page.keyboard.press("Shift+ArrowDown")
    await expect(page.locator(".board-about")).to_contain_text("Cells selected: 2, tenants: 2")
    await page.get_by_role("button", name="Ask first", exact=True).click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("2 switches become: asks first")
    await expect(dialog).to_contain_text("get_customer: off → asks first")
    assert await stored() == {}
    await dialog.get_by_role("link", name="Cancel").click()
    await expect(dialog).to_be_hidden()
    await page.get_by_role("button", name="Ask first", exact=True).click()
    await dialog.get_by_role("button", name="Set 2 switches").click()
    await expect(page.locator(".messagelist")).to_contain_text("2 switches: asks first")
    assert await stored() == {"acme": "ask", "globex": "ask"}
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator(".messagelist")).to_contain_text("2 switches are as before.")
    assert await stored() == {}


async def test_a_column_is_selected_by_its_box(roots: Visitor, cast: Cast) -> None:
    page = await roots.open(BOARD)
    await page.get_by_role("checkbox", name=f"Select {TOOL}").check()
    await expect(page.locator(".grid td.selected")).to_have_count(2)
    await page.keyboard.press("Escape")
    await page.get_by_role("checkbox", name="Select Acme").check()
    await page.get_by_role("button", name="Off", exact=True).click()
    await expect(page.locator("#undo")).to_contain_text("you set")
    assert set(await stored("calculate")) == {"acme"}


async def test_a_tool_is_off_for_everyone_with_three_clicks(roots: Visitor, cast: Cast) -> None:
    page = await roots.open("/admin/")
    await page.get_by_role("navigation", name="Rooms").get_by_role("link", name="Tools").click()
    await page.locator("thead").get_by_role("link", name=TOOL, exact=True).click()
    await expect(page.get_by_text("Tenants affected")).to_be_visible()
    await page.get_by_label("Reason").focus()
    await page.keyboard.type("Leaks addresses")
    await page.get_by_role("button", name="Switch off for everyone").click()
    await expect(page.locator(".block-rule")).to_contain_text("Off in the whole deployment: Leaks addresses.")
    assert await ToolBlock.objects.filter(tool=TOOL).aexists()


async def test_the_tool_page_asks_before_it_sets_all(roots: Visitor, cast: Cast) -> None:
    page = await roots.open(f"/admin/assistant/toolsetting/tool/{TOOL}/")
    await page.locator(".set-all").get_by_role("button", name="On", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Set 2 switches").click()
    await expect(page.locator(".messagelist")).to_contain_text("2 switches: on")
    assert await stored() == {"acme": "on", "globex": "on"}


async def test_the_board_works_without_javascript(
    browser: Browser, uvicorn_server: Server, roots: Visitor, cast: Cast
) -> None:
    context = await browser.new_context(java_script_enabled=False, storage_state=await roots.context.storage_state())
    page = await context.new_page()
    await page.goto(uvicorn_server.url + BOARD)
    await page.get_by_role("checkbox", name=f"Select {TOOL}").check()
    await page.get_by_role("button", name="On", exact=True).click()
    await page.get_by_role("button", name="Set 2 switches").click()
    await expect(page.locator(".messagelist")).to_contain_text("2 switches: on")
    assert await stored() == {"acme": "on", "globex": "on"}
    await context.close()


@pytest.mark.parametrize("path", [BOARD, f"{BOARD}acme/", f"/admin/assistant/toolsetting/tool/{TOOL}/"])
@pytest.mark.parametrize("width", [390, 1366])
async def test_pages_do_not_scroll_sideways(
    path: str, width: int, browser: Browser, uvicorn_server: Server, cast: Cast
) -> None:
    visitor = await enter(browser, uvicorn_server.url, "root", viewport={"width": width, "height": 844})
    page = await visitor.open(path)
    assert await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    await visitor.context.close()
    assert visitor.problems == []


LOOK = """(link) => { const { width, height } = link.getBoundingClientRect(), style = getComputedStyle(link);
  return [width, height, style.color, style.fontSize, style.padding, style.margin, style.border]; }"""


async def test_its_styles_leave_the_navigation_as_it_is(roots: Visitor, cast: Cast) -> None:
    page = await roots.open("/admin/")
    link = page.get_by_role("navigation", name="Rooms").get_by_role("link", name="Spend", exact=True)
    elsewhere = await link.evaluate(LOOK)
    for path in (BOARD, f"{BOARD}acme/", "/admin/assistant/toolsetting/simulate/"):
        await page.goto(f"{roots.origin}{path}")
        assert await link.evaluate(LOOK) == elsewhere

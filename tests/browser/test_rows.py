"""Rows of a project's own models in the chat: the row on the screen, rows by their names, tables and charts."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.acts import answered, ask, last_answer
from tests.browser.conftest import Visitor
from tests.contrib.data.test_shop import shop
from tests.fake_provider import FakeProvider
from tests.host_project.installed import run
from tests.live import Server, serve

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

PERSON = "ada@acme.example"
FORMULA = "=1+2"  # a customer of the shop is called so
BY_NUMBER = {"order_by": "number"}
BY_STATUS = {"measure": "sum", "of": "total", "group_by": ["status"]}


@pytest.fixture(scope="module")
def model() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        yield provider


@pytest.fixture(scope="module")
def shop_site(model: FakeProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The shop (`tests/host_project/shop`) on a server, with two companies."""
    folder, environment = shop(tmp_path_factory.mktemp("shown") / "shop")
    environment |= {
        "DJANGO_SETTINGS_MODULE": "shown_settings",
        "MODEL_URL": model.url,
        "SHOP_DATABASE": str(folder / "shown.sqlite3"),
    }
    run([sys.executable, "-m", "django", "shell", "-v0", "-c", "import shown; shown.show()"], folder, environment)
    application = "shown_asgi:application"
    with serve(env=environment, folder=folder, application=application, health="/admin/login/") as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def ada(browser: Browser, shop_site: Server) -> AsyncIterator[Visitor]:
    """The browser of one of Acme's people; the test fails if a page had an error or asked for something outside."""
    context = await browser.new_context(permissions=["clipboard-read", "clipboard-write"], accept_downloads=True)
    visitor = Visitor(context, shop_site.url)
    page = await visitor.open("/assistant/t/acme/")
    await page.locator("[name=username]").fill(PERSON)
    await page.locator("[name=password]").fill("x")
    await page.locator("[name=password]").press("Enter")
    await expect(page.get_by_label("Message to")).to_be_visible()
    await page.close()
    yield visitor
    await context.close()
    assert visitor.problems == []


async def chat(ada: Visitor) -> Page:
    return await ada.open("/assistant/t/acme/")


async def asked(page: Page, model: FakeProvider, tool: str, arguments: dict[str, object]) -> None:
    """Ask a question whose answer calls a tool."""
    model.call(tool, arguments)
    model.reply("There they are.")
    await ask(page, "Which?")
    await answered(page)
    await expect(last_answer(page)).to_contain_text("There they are.")
    await expect(page.locator(".data-result")).to_be_visible()


def sent(model: FakeProvider) -> str:
    """What the model was sent last."""
    return str(model.requests[-1].body)


async def test_a_row_that_is_named_with_an_at_is_chosen_by_keys(ada: Visitor, model: FakeProvider) -> None:
    page = await chat(ada)
    box = page.get_by_label("Message to")
    await box.press_sequentially("@103")
    option = page.get_by_role("option", name="103 of acme-customer-3")
    await expect(option).to_be_visible()
    await box.press("Enter")
    await expect(box).to_have_value(re.compile("@103 of acme-customer-3"))
    await expect(page.locator(".row-chip")).to_have_text("@order103 of acme-customer-3")
    model.reply("It is open.")
    await box.press_sequentially(" how is it?")
    await box.press("Enter")
    await answered(page)
    await expect(page.locator(".row-chip")).to_have_count(0)
    await expect(last_answer(page)).to_contain_text("It is open.")
    assert "get_order" in sent(model)


async def test_a_tool_that_is_named_with_an_at_is_a_chip_that_can_be_taken_off(ada: Visitor) -> None:
    page = await chat(ada)
    box = page.get_by_label("Message to")
    await box.press_sequentially("Use @find ord")
    await expect(page.get_by_role("option")).to_have_count(1)
    await expect(page.locator("#status")).to_have_text("1 found (tool), choose with the arrow keys")
    await box.press("Enter")
    chip = page.locator(".row-chip")
    await expect(chip).to_have_text("@toolFind orders")
    await page.get_by_role("button", name="Take off Find orders").press("Enter")
    await expect(box).to_have_value("Use Find orders ")
    await expect(box).to_be_focused()
    await expect(chip).to_have_count(0)
    await box.press_sequentially("or @find ord")
    await expect(page.get_by_role("option")).to_have_count(1)
    await box.press("Enter")
    await expect(chip).to_have_count(1)
    await box.press("Control+A")
    await box.press("Delete")
    await expect(chip).to_have_count(0)


async def test_no_row_of_another_company_is_offered(ada: Visitor) -> None:
    page = await chat(ada)
    await page.get_by_label("Message to").press_sequentially("@globex")
    await expect(page.locator(".suggestion-hint")).to_be_visible()
    await expect(page.get_by_role("option")).to_have_count(0)


async def test_a_page_that_shows_a_row_leads_to_a_conversation_about_it(ada: Visitor, model: FakeProvider) -> None:
    page = await chat(ada)
    await asked(page, model, "find_orders", {"where": {"number": {"is": 103}}})
    card = page.locator(".data-card")
    await expect(card).to_contain_text("103 of acme-customer-3")
    address = await card.get_by_role("link").get_attribute("href")
    assert address is not None
    await page.goto(ada.origin + address)
    await expect(page.locator("[data-assistant-row]")).to_have_attribute("data-label", "103 of acme-customer-3")
    await page.get_by_role("link", name="Ask about this order").click()
    await expect(page.locator(".row-chip")).to_contain_text("103 of acme-customer-3")


async def test_a_table_sorts_is_copied_and_goes_to_csv(ada: Visitor, model: FakeProvider) -> None:
    page = await chat(ada)
    await asked(page, model, "find_orders", BY_NUMBER)
    rows = page.locator(".data-table tbody tr")
    await expect(rows).to_have_count(11)
    head = page.locator(".data-table thead th").nth(1)
    await head.get_by_role("button").click()
    await expect(head).to_have_attribute("aria-sort", "ascending")
    await head.get_by_role("button").press("Enter")
    await expect(head).to_have_attribute("aria-sort", "descending")
    await expect(rows.first).to_contain_text("110 of acme")
    await page.locator(".data-actions").get_by_role("button", name="Copy").click()
    await expect(page.locator(".data-actions").get_by_role("button", name="Copied")).to_be_visible()
    lines = str(await page.evaluate("navigator.clipboard.readText()")).splitlines()
    assert len(lines) == 12
    assert lines[1].startswith("110 of acme")
    async with page.expect_download() as download:
        await page.get_by_role("button", name="CSV of all rows").click()
    saved = await (await download.value).path()
    table = list(csv.reader(Path(saved).read_text(encoding="utf-8-sig").splitlines()))
    assert len(table) == 12
    await expect(page.locator(".data-note")).to_contain_text("11 rows were saved.")


async def test_what_is_copied_is_no_formula(ada: Visitor, model: FakeProvider) -> None:
    page = await chat(ada)
    await asked(page, model, "find_customers", {})
    await page.locator(".data-actions").get_by_role("button", name="Copy").click()
    await expect(page.locator(".data-actions").get_by_role("button", name="Copied")).to_be_visible()
    lines = str(await page.evaluate("navigator.clipboard.readText()")).splitlines()
    assert f"'{FORMULA}" in [line.split("\t")[0] for line in lines]
    assert FORMULA not in [line.split("\t")[0] for line in lines]


async def test_a_chart_of_few_rows_counts_in_whole_numbers(ada: Visitor, model: FakeProvider) -> None:
    page = await chat(ada)
    await asked(page, model, "summarise_customers", {"measure": "count", "group_by": ["country__code"]})
    await expect(page.locator(".data-chart .grid + .tick, .data-chart .axis + .tick")).to_have_text(["0", "1", "2"])


async def test_each_bar_has_its_name_on_a_phone_too(ada: Visitor, model: FakeProvider) -> None:
    page = await chat(ada)
    await page.set_viewport_size({"width": 390, "height": 800})
    await asked(page, model, "summarise_orders", BY_STATUS)
    names = page.locator('.data-chart .tick[text-anchor="middle"]')
    await expect(names).to_have_text(["Paid", re.compile("^Waiting"), "On its way"])


async def test_a_table_in_the_widget_has_cells_of_numbers_on_a_phone_too(ada: Visitor, model: FakeProvider) -> None:
    page = await chat(ada)
    await asked(page, model, "find_orders", {"where": {"number": {"is": 103}}})
    address = await page.locator(".data-card").get_by_role("link").get_attribute("href")
    await page.set_viewport_size({"width": 390, "height": 800})
    await page.goto(f"{ada.origin}{address}")
    widget = page.locator("tenant-assistant")
    await widget.get_by_role("button").first.click()
    model.call("find_orders", BY_NUMBER)
    model.reply("There they are.")
    await widget.locator("textarea").fill("Which?")
    await widget.locator("textarea").press("Enter")
    cells = widget.locator(".data-table tbody tr > :nth-child(2)")
    await expect(cells).to_have_count(11)
    await expect(cells.first).to_have_css("display", "table-cell")
    await expect(cells.first).to_have_css("text-align", "end")
    await expect(widget.locator(".data-table th").nth(1)).to_have_css("display", "table-cell")


async def test_a_chart_tells_its_values_to_keys_and_pointers(ada: Visitor, model: FakeProvider) -> None:
    page = await chat(ada)
    await asked(page, model, "summarise_orders", BY_STATUS)
    points = page.locator(".data-chart .point")
    await expect(points).to_have_count(3)
    names = [str(await points.nth(place).get_attribute("aria-label")) for place in range(3)]
    value = page.locator(".data-chart .value")
    await points.first.focus()
    await expect(value).to_have_text(names[0])
    await page.keyboard.press("ArrowRight")
    await expect(points.nth(1)).to_be_focused()
    await expect(value).to_have_text(names[1])
    await page.keyboard.press("End")
    await expect(value).to_have_text(names[2])
    await page.keyboard.press("Home")
    await expect(value).to_have_text(names[0])
    await points.nth(1).hover()
    await expect(value).to_have_text(names[1])
    # Without a pointer and the focus nothing is told; the table beside has all values.
    await page.get_by_label("Message to").focus()
    await page.mouse.move(0, 0)
    await expect(value).to_have_text("")
    await expect(page.locator(".data-table tbody tr")).to_have_count(3)

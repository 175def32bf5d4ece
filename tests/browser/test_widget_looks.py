"""How answers look in the widget: tables, code, reasoning, states of tools, its accent; and copying."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.base import Cast
from tests.browser.test_looks import contrast
from tests.browser.test_widget import Shop, ask, done, host, open_widget, shop  # noqa: F401 - fixtures
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


async def test_a_wide_table_scrolls_and_breaks_no_word(shop: Shop, fake_provider: FakeProvider) -> None:
    names = ["Business", "Enterprise", "Professional", "Responsibility", "Availability"]
    fake_provider.reply("| " + " | ".join(names) + " |\n|" + "---|" * 5 + "\n| " + " | ".join(names) + " |\n")
    page = await shop.visit()
    await open_widget(page)
    await ask(page, "Plans")
    await done(page)
    cells = page.locator(".answer :is(th, td)")
    await expect(cells).to_have_count(10)
    lines = await cells.evaluate_all(
        """all => all.map((cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return range.getClientRects().length;
        })"""
    )
    assert lines == [1] * 10
    assert await page.locator(".answer .table").evaluate("(one) => one.scrollWidth > one.clientWidth")
    assert await page.locator(".scroller").evaluate("(one) => one.scrollWidth === one.clientWidth")


CODE = "```python\ndef add(a):\n    return 'b'  # why\n```\n"


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_code_has_colours(theme: str, shop: Shop, fake_provider: FakeProvider) -> None:
    fake_provider.reply(CODE)
    page = await shop.visit(attributes=f"theme={theme}")
    await open_widget(page)
    await ask(page, "Code")
    await done(page)
    colour = "(one) => getComputedStyle(one).color"
    parts = [page.locator(f".code {name}").first for name in ("code", ".hl-k", ".hl-s1", ".hl-c1", ".hl-nf")]
    assert len({await part.evaluate(colour) for part in parts}) == 5


async def test_code_and_answers_are_copied(shop: Shop, fake_provider: FakeProvider) -> None:
    fake_provider.reply(f"This **way**:\n\n{CODE}")
    page = await shop.visit(permissions=["clipboard-read", "clipboard-write"])
    await open_widget(page)
    await ask(page, "Code")
    await done(page)
    await page.get_by_role("button", name="Copy the code").click()
    await expect(page.get_by_text("Copied")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == "def add(a):\n    return 'b'  # why\n"
    await page.get_by_role("button", name="Copy the answer").click()
    await expect(page.get_by_text("Copied")).to_have_count(2)
    assert await page.evaluate("navigator.clipboard.readText()") == f"This **way**:\n\n{CODE}".strip()
    await page.reload()
    await open_widget(page)
    await expect(page.get_by_role("button", name="Copy the answer")).to_have_count(1)


async def test_reasoning_is_folded_away(shop: Shop, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Yes.", reasoning="Let me think about it.")
    page = await shop.visit()
    await open_widget(page)
    await ask(page, "Well?")
    await done(page)
    for _ in range(2):
        await expect(page.locator(".answer")).to_have_text("Yes.")
        await expect(page.get_by_text("Let me think about it.")).to_be_hidden()
        await page.get_by_text("Thoughts").click()
        await expect(page.get_by_text("Let me think about it.")).to_be_visible()
        await page.reload()
        await open_widget(page)


async def test_states_of_tools_are_words(shop: Shop, cast: Cast, fake_provider: FakeProvider) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "1+1"})
    fake_provider.reply("As you wish.")
    page = await shop.visit()
    await open_widget(page)
    await ask(page, "One and one?")
    state = page.locator(".tool .state")
    await expect(state).to_have_text("Needs your approval")
    await page.get_by_role("button", name="Reject").click()
    await page.get_by_role("button", name="Reject").click()
    await expect(state).to_have_text("Rejected")
    await page.reload()
    await open_widget(page)
    await expect(state).to_have_text("Rejected")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_accent_has_contrast_in_each_theme(theme: str, shop: Shop) -> None:
    page = await shop.visit(attributes=f"theme={theme}")
    accents = {"": "", "--tenant-assistant-accent": "#0a3d91", "--tenant-assistant-accent-dark": "#ffd54a"}
    for name, colour in accents.items():
        if name:
            await page.locator("tenant-assistant").evaluate(f"(one) => one.style.setProperty('{name}', '{colour}')")
        shown = await page.locator(".launcher").evaluate("(one) => getComputedStyle(one).backgroundColor")
        assert await contrast(page.locator(".launcher")) >= 4.5, (name, shown)
        if name.endswith("dark") and theme == "dark":
            assert shown == "rgb(255, 213, 74)"
        elif name and theme == "light":
            assert shown == "rgb(10, 61, 145)"


async def test_visitors_are_greeted_by_the_hosts_page_and_not_as_members(shop: Shop) -> None:
    page = await shop.visit(attributes="greeting=Welcome!")
    await open_widget(page)
    welcome = page.locator(".welcome")
    await expect(welcome.locator("p")).to_have_text("Welcome!")
    await expect(welcome.get_by_role("button")).to_have_text(["Where is my order?", "Can I return it?"])
    await page.keyboard.press("Escape")
    await page.locator("tenant-assistant").evaluate("(one) => one.removeAttribute('greeting')")
    await page.evaluate("document.body.append(document.querySelector('tenant-assistant').cloneNode())")
    second = page.locator("tenant-assistant").nth(1)
    await second.get_by_role("button", name="Open the assistant").click()
    await expect(second.locator(".welcome p")).to_have_text("How can I help?")
    await expect(page.get_by_text("Knows Acme's customers.")).to_have_count(0)

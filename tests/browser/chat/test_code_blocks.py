"""Blocks of code in an answer: long lines that are wrapped, in the page and in the widget."""

from __future__ import annotations

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.acts import answered, ask, last_answer
from tests.browser.test_widget import Shop, host, open_widget, shop  # noqa: F401 - fixtures
from tests.browser.test_widget import ask as ask_widget
from tests.browser.test_widget import done as done_widget
from tests.fake_provider import FakeProvider

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
LINE = "total = " + " + ".join(f"item_{number}.price" for number in range(30))
CODE = f"```python\n{LINE}\n```\n"
IS_WIDER = "(pre) => pre.scrollWidth > pre.clientWidth"


async def wraps(answer: Locator) -> None:
    """Wrap the answer's only block of code by its button."""
    code = answer.locator("pre")
    button = answer.get_by_role("button", name="Wrap lines")
    assert await code.evaluate(IS_WIDER)
    await button.click()
    await expect(button).to_have_attribute("aria-pressed", "true")
    assert not await code.evaluate(IS_WIDER)


async def test_long_lines_are_wrapped_in_later_blocks_too(page: Page, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=[f"```python\n{LINE}\n", gate, "```\n\nThat is all."])
    await ask(page, "Code")
    answer = last_answer(page)
    await expect(answer.locator("pre")).to_contain_text("item_29")
    await wraps(answer)
    gate.release()
    await expect(answer).to_contain_text("That is all.")
    await answered(page)
    button = answer.get_by_role("button", name="Wrap lines")
    await expect(button).to_have_attribute("aria-pressed", "true")  # the end of the block forgets nothing
    assert not await answer.locator("pre").evaluate(IS_WIDER)
    fake_provider.reply(CODE)
    await ask(page, "More")
    await answered(page)
    await expect(button).to_have_attribute("aria-pressed", "true")
    assert not await answer.locator("pre").evaluate(IS_WIDER)
    await button.click()
    assert await answer.locator("pre").evaluate(IS_WIDER)


async def test_the_widget_wraps_them_too(shop: Shop, fake_provider: FakeProvider) -> None:
    fake_provider.reply(CODE)
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "Code")
    await done_widget(page)
    await wraps(page.locator(".answer"))

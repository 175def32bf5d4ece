"""The cards of calls that did not run or failed name the tool as those of others do."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from tests.base import Cast
from tests.browser.acts import answered, ask
from tests.browser.conftest import Visitor
from tests.factories import switch_tool
from tests.fake_answers import chunk
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


async def test_failed_refused_and_unknown_arguments_keep_the_title(
    page: Page, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "get_customer")
    await sync_to_async(switch_tool)(cast.acme, "update_customer", policy="off")
    fake_provider.calls(
        [
            ("get_customer", {"customer_id": "does-not-exist"}),
            ("get_customer", {"nonsense": 1}),
            ("get_customer", "{no json"),
            ("update_customer", {}),
            ("find_orders", {}),
        ]
    )
    fake_provider.reply("None of it worked.")
    await ask(page, "Try")
    await answered(page)
    names = page.locator(".activity .tool > summary .tool-name")
    expected = ["Look up a customer"] * 3 + ["Change a customer", "Find orders"]
    await expect(names).to_have_text(expected)
    await page.reload()
    await expect(names).to_have_text(expected)


async def test_who_comes_while_the_answer_is_written_sees_the_same(
    page: Page, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "get_customer")
    gate = fake_provider.gate()
    fake_provider.call("get_customer", {"customer_id": "does-not-exist"})
    fake_provider.reply(chunks=["There is ", gate, "none."])
    await ask(page, "Try")
    await expect(page.locator(".answer").last).to_have_text("There is")
    await page.reload()
    await expect(page.locator(".answer").last).to_have_text("There is")
    card = page.locator(".tool")
    await expect(card.locator(".tool-name")).to_have_text("Look up a customer")
    await expect(card).to_have_attribute("data-state", "error")
    gate.release()
    await answered(page)
    await expect(card).to_have_attribute("data-state", "error")


async def test_a_call_has_its_title_while_its_arguments_are_written(
    page: Page, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "get_customer")
    gate = fake_provider.gate()
    begun = {"index": 0, "id": "call_1", "function": {"name": "get_customer", "arguments": '{"customer_id": '}}
    rest = {"index": 0, "function": {"arguments": "999999}"}}
    deltas = ({"tool_calls": [begun]}, {"tool_calls": [rest]})
    fake_provider.stream(chunk(deltas[0]), gate, chunk(deltas[1]), chunk(finish="tool_calls"))
    fake_provider.reply("There is none.")
    await ask(page, "Try")
    card = page.locator(".tool[data-call]")
    await expect(card).to_have_attribute("data-state", "preparing")
    for _ in range(2):
        await expect(card.locator(".tool-name").first).to_have_text("Look up a customer")
        await page.reload()
    gate.release()
    await answered(page)
    await expect(card.locator(".tool-name").first).to_have_text("Look up a customer")


async def test_the_line_of_several_calls_is_whole_on_a_phone(
    phone: Visitor, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "get_customer")
    await sync_to_async(switch_tool)(cast.acme, "find_orders")
    fake_provider.calls([("get_customer", {"customer_id": 999_999}), ("find_orders", {}), ("nobody_knows", {})])
    fake_provider.reply("None of it worked.")
    page = await phone.open()
    await ask(page, "Try")
    await answered(page)
    name = page.locator(".activity > summary > .tool-name")
    await expect(name).to_contain_text("Look up a customer")
    assert await name.evaluate("one => one.scrollWidth <= one.clientWidth && one.clientWidth > 150")

"""How the chat page shows assistants that are asked."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.base import Cast
from tests.browser.acts import answered, ask, last_answer
from tests.contrib.sub_agents.delegation import let_ask
from tests.factories import make_assistant, switch_tool
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def expert(cast: Cast) -> None:
    switch_tool(cast.acme, "calculate")
    let_ask(cast.support, make_assistant(cast.acme, "expert", name="The expert"))


@pytest.mark.usefixtures("expert")
async def test_a_delegates_work_is_shown_in_the_card_of_its_call(page: Page, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.call("ask_expert", {"task": "Add 2 and 2"})
    fake_provider.call("calculate", {"expression": "2+2"})
    fake_provider.reply(chunks=["It is **four**.\n\n", gate, "Surely."])
    fake_provider.reply("The expert says four.")
    await ask(page, "Ask the expert")
    agent = page.locator(".tool[data-call] .agent")
    await expect(agent.locator(".agent-name")).to_have_text("The expert")
    await expect(page.locator(".tool[data-call] > summary .tool-name").first).to_have_text("The expert")
    await expect(agent.locator(".tool .tool-name")).to_have_text("Calculate")
    await expect(agent.locator(".tool")).to_have_attribute("data-state", "ok")
    await expect(agent.locator(".answer strong")).to_have_text("four")
    await expect(agent.locator(".agent-state")).to_have_text("at work")
    await page.reload()
    await expect(agent.locator(".answer strong")).to_have_text("four")
    await expect(agent.locator(".agent-state")).to_have_text("at work")
    gate.release()
    await answered(page)
    await expect(agent.locator(".agent-state")).to_have_text("done")
    await expect(last_answer(page)).to_have_text("The expert says four.")
    await page.reload()
    await page.locator(".turn.assistant > .items > .tool > summary").click()
    await expect(agent.locator(".answer")).to_contain_text("Surely.")
    await expect(agent.locator(".agent-state")).to_have_text("done")
    await expect(agent.locator(".agent-name")).to_have_text("The expert")
    await expect(agent.locator(".items > *")).to_have_count(2)
    await expect(agent.locator(".tool")).to_have_attribute("data-state", "ok")
    await expect(page.locator(".turn.assistant > .items > .answer")).to_have_count(1)
    await page.get_by_role("button", name="Copy the answer").click()
    assert await page.evaluate("navigator.clipboard.readText()") == "The expert says four."


@pytest.mark.usefixtures("expert")
async def test_stopping_stops_the_delegate(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("ask_expert", {"task": "Add 2 and 2"})
    fake_provider.reply(chunks=["Let me see", fake_provider.gate()])
    await ask(page, "Ask the expert")
    await expect(page.locator(".agent .answer")).to_have_text("Let me see")
    await page.get_by_role("button", name="Stop the answer").click()
    await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()
    await expect(page.locator(".agent")).to_have_attribute("data-state", "error")
    await page.reload()
    await page.locator(".tool > summary").click()
    await expect(page.locator(".agent .answer")).to_have_text("Let me see")
    await expect(page.locator(".agent")).to_have_attribute("data-state", "error")


@pytest.mark.usefixtures("expert")
async def test_a_call_that_asked_for_nonsense_keeps_its_title(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("ask_expert", {"nonsense": 1})
    fake_provider.reply("It did not work.")
    await ask(page, "Try")
    await answered(page)
    await expect(page.locator(".tool > summary .tool-name")).to_have_text(["The expert"])
    await page.reload()
    await expect(page.locator(".tool > summary .tool-name")).to_have_text(["The expert"])

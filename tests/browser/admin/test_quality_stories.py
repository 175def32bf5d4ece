"""Stories of quality and of tenants, done by hand in a browser, with the clicks counted."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from assistant.contrib.change_sets.models import ChangeSet
from assistant.contrib.evaluations.models import EvaluationCase
from assistant.contrib.improvements.models import Annotation
from assistant.contrib.tool_requests.models import ToolRequest
from assistant.models import Feedback, PromptVersion, ToolSetting, UsageEntry
from tests.base import Cast
from tests.browser.acts import answered, ask
from tests.browser.admin.counted import Story, check, type_into
from tests.browser.admin.test_model_pages import enter
from tests.browser.admin.test_stories import room
from tests.browser.conftest import Visitor
from tests.contrib.insights.story import plant
from tests.contrib.panel.conftest import say_something
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
in_db = sync_to_async
WIDE = {"width": 1366, "height": 768}


@pytest_asyncio.fixture(loop_scope="session")
async def amys(browser: Browser, site: Server, cast: Cast) -> AsyncIterator[Visitor]:
    visitor = await enter(browser, site.url, "amy", viewport=WIDE)
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


async def test_a_staged_rollout_is_widened_and_taken_back(browser: Browser, site: Server, cast: Cast) -> None:
    roots = await enter(browser, site.url, "root", viewport=WIDE)
    story = Story(roots)
    page = await story.begin()
    await room(page, "Assistants")
    await page.locator("#result_list tr", has_text="Acme Support").get_by_role("link", name="Editor").click()
    await type_into(page.get_by_label("Prompt", exact=True), "You are Acme's assistant. Be brief.")
    await type_into(page.get_by_label("What this version changes"), "Answers are too long")
    await page.get_by_role("button", name="Save and give to a share").click()
    await expect(page.get_by_label("Share of conversations")).to_have_value("10")
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.get_by_role("button", name="Start").click()
    await expect(page.locator(".messagelist")).to_contain_text("It is on")
    await page.get_by_role("button", name="Widen").click()
    await expect(page.locator(".messagelist")).to_contain_text("25 % of the conversations")
    await page.get_by_role("button", name="Take back").click()
    await expect(page.locator(".messagelist")).to_contain_text("1 change is as before")
    assert (await ChangeSet.objects.aget()).state == ChangeSet.State.ENDED
    assert (await PromptVersion.objects.aget(assistant=cast.support, status="published")).number == 1
    await roots.context.close()
    assert roots.problems == []
    check("A prompt for a share of the conversations, wider, taken back", story.clicks, 8)


async def a_refused_call(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("current_time", {})
    fake_provider.reply("I may not look at the clock.")
    await ask(page, "What time is it?")
    await answered(page)
    await expect(page.locator(".answer")).to_have_count(1)


async def test_a_member_asks_for_a_tool_and_has_it(
    alice_browser: Visitor, amys: Visitor, cast: Cast, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time", "off")
    asking = Story(alice_browser)
    chat = await asking.begin("/t/acme/")
    await expect(chat.locator("body")).to_have_attribute("data-connection", "open")
    await a_refused_call(chat, fake_provider)
    asking.clicks = 0
    await chat.locator("details.tool > summary").click()
    await chat.locator(".tool .offer").click()
    await expect(chat.get_by_label("What for?")).to_be_focused()
    await chat.keyboard.type("To know when the shop closes")
    await chat.get_by_role("dialog").get_by_role("button", name="Ask", exact=True).click()
    await expect(chat.locator(".tool-answer")).to_contain_text("Waits for an answer")
    answering = Story(amys)
    page = await answering.begin()
    await page.get_by_role("link", name="Look up the time").click()
    await expect(page.locator("#content")).to_contain_text("To know when the shop closes")
    await page.get_by_role("button", name="Switch it on", exact=True).click()
    await expect(chat.locator(".tool-answer")).to_contain_text("Yes (amy)")
    assert (await ToolSetting.objects.aget(tenant=cast.acme, tool="current_time")).policy == "on"
    assert (await ToolRequest.objects.aget()).state == ToolRequest.State.GRANTED
    check("A member asks for a tool, and has it", asking.clicks + answering.clicks, 6)


async def test_a_tenants_admin_answers_her_boss(amys: Visitor, cast: Cast) -> None:
    """What did it cost this month, who uses it most, and is it any good?"""
    await in_db(plant)(cast)
    await in_db(say_something)(cast)
    await UsageEntry.objects.aupdate(cost=5_000_000)
    story = Story(amys)
    page = await story.begin()
    await room(page, "People and spend")
    await page.get_by_role("link", name="Spend", exact=True).click()
    await expect(page.locator(".panel-figures")).to_contain_text("5.00")
    await page.get_by_role("navigation", name="Spend by").get_by_role("link", name="Person").click()
    await expect(page.locator("tbody tr", has_text="alice").last).to_contain_text("100.0 %")
    await room(page, "Assistants")
    await page.get_by_role("link", name="Quality", exact=True).click()
    await expect(page.get_by_role("heading", name="What changed before it became worse")).to_be_visible()
    check("A tenant's admin answers: what it cost, who uses it, is it good", story.clicks, 5)


async def test_a_wrong_answer_is_annotated_and_becomes_a_case(amys: Visitor, cast: Cast) -> None:
    run = await in_db(say_something)(cast)
    await Feedback.objects.filter(message__run=run).aupdate(rating=-1)
    story = Story(amys)
    page = await story.begin()
    await room(page, "Conversations")
    await page.locator("#changelist-filter summary", has_text="Rating").click()
    await page.get_by_role("link", name="Thumbs down").click()
    await page.locator("#result_list").get_by_role("link", name="Opening hours").click()
    await page.locator("summary", has_text="Annotate").click()
    await page.get_by_label("The answer is").select_option("wrong")
    await type_into(page.get_by_label("Corrected answer"), "At eight.")
    await type_into(page.get_by_label("A right answer contains"), "eight")
    await page.get_by_role("button", name="Save and add to the evaluation").click()
    await expect(page.locator(".messagelist")).to_contain_text("The question is in this evaluation now")
    assert (await Annotation.objects.aget()).label == Annotation.Label.WRONG
    assert (await EvaluationCase.objects.aget()).expected_text == "eight"
    check("A wrong answer annotated and made a case", story.clicks, 6)

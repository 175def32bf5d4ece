"""Under an answer: copy, ask again, ratings, time, model and cost, sources; several tools as one line; questions."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from assistant.contrib.branding.models import Brand
from assistant.models import Feedback, Tenant, ToolSetting
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.browser.acts import answered, ask, fits, last_answer
from tests.browser.conftest import Visitor
from tests.browser.test_widget import Shop, done, host, open_widget, shop  # noqa: F401 - fixtures
from tests.browser.test_widget import ask as ask_widget
from tests.factories import switch_tool
from tests.fake_answers import citing
from tests.fake_provider import FakeProvider

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
NUMBER = re.compile(r"\d+\.\d+")  # of a passage of a document
QUESTION: dict[str, Any] = {
    "question": "When, and for how many?",
    "fields": [
        {"name": "day", "label": "Day", "kind": "date"},
        {"name": "people", "label": "People", "kind": "number"},
        {"name": "seat", "label": "Seat", "kind": "choice", "options": ["Window", "Aisle"]},
        {"name": "extras", "label": "Extras", "kind": "several", "options": ["Bike", "Dog"], "required": False},
        {"name": "insured", "label": "Insured", "kind": "yes_no"},
    ],
}


@pytest.fixture
def policy(cast: Cast) -> None:
    switch_tool(cast.acme, "search_docs")
    add_document(tenant=cast.acme, title="Return policy", text="Refunds take fourteen days.", is_trusted=True)


async def rate(page: Page) -> None:
    """Rate the answer on the page as bad, with a comment, and see that it is remembered."""
    await page.get_by_role("button", name="Bad answer").click()
    await page.get_by_label("What was wrong?").fill("Too short")
    await page.get_by_role("button", name="Send comment").click()
    await expect(page.get_by_role("button", name="Bad answer")).to_have_attribute("aria-pressed", "true")
    await expect(page.get_by_role("button", name="Bad answer")).to_be_focused()


async def rated() -> list[tuple[int, str]]:
    return [row async for row in Feedback.objects.values_list("rating", "comment")]


async def test_an_answer_is_rated_and_the_rating_is_remembered(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Yes.")
    await ask(page, "Well?")
    await rate(page)
    await page.reload()
    await expect(page.get_by_role("button", name="Bad answer")).to_have_attribute("aria-pressed", "true")
    assert await rated() == [(-1, "Too short")]
    await page.get_by_role("button", name="Good answer").click()
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("What was good?")).to_have_count(0)
    await expect(page.get_by_role("button", name="Bad answer")).to_have_attribute("aria-pressed", "false")
    await page.get_by_role("button", name="Good answer").click()
    await expect(page.get_by_role("status")).to_have_text("Rating taken back")
    assert await rated() == []


async def test_a_visitor_of_the_widget_rates_too(shop: Shop, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Yes.")
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "Well?")
    await rate(page)
    await page.reload()
    await open_widget(page)
    await expect(page.get_by_role("button", name="Bad answer")).to_have_attribute("aria-pressed", "true")
    assert await rated() == [(-1, "Too short")]


async def test_time_and_model_are_shown_and_tokens_only_if_the_tenant_wants_it(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    await ask(page, "First")
    about = page.locator(".about")
    await expect(about.locator("time")).to_be_visible()
    await expect(about).not_to_contain_text("test-model")
    await Brand.objects.aupdate_or_create(tenant=cast.acme, defaults={"shows_model": True})
    await page.reload()
    await expect(about).to_contain_text("test-model")
    await expect(about.locator("time")).to_have_attribute("datetime", re.compile("^20"))
    await expect(about).not_to_contain_text("tokens")
    await Tenant.objects.filter(pk=cast.acme.pk).aupdate(shows_usage=True)
    await page.reload()
    await expect(about).to_contain_text("tokens")


async def test_the_last_answer_is_asked_for_again(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("One.")
    await ask(page, "Count")
    await answered(page)
    fake_provider.reply("Two.")
    await page.get_by_role("button", name="Ask again").click()
    await expect(last_answer(page)).to_have_text("Two.")
    await expect(page.locator(".turn.user .bubble")).to_have_text(["Count"])
    await expect(page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await expect(page.get_by_role("button", name="Ask again")).to_have_count(1)


@pytest.mark.usefixtures("policy")
async def test_sources_are_chips_that_open_the_passage(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("search_docs", {"queries": ["refunds"]})
    fake_provider.queue(citing("Refunds take fourteen days."))
    await ask(page, "How long?")
    await expect(page.locator(".tool-brief")).to_have_text("refunds")
    for _ in range(2):
        chip = page.locator(".answer .cite")
        await expect(chip).to_have_text(NUMBER)
        await expect(page.get_by_role("list", name="Sources").get_by_role("listitem")).to_have_count(1)
        await chip.click()
        side = page.get_by_role("dialog", name="Source")
        await expect(side).to_contain_text("Refunds take fourteen days.")
        await page.keyboard.press("Escape")
        await expect(side).to_be_hidden()
        await expect(chip).to_be_focused()
        await page.get_by_role("button", name="Copy the answer").click()
        copied = await page.evaluate("navigator.clipboard.readText()")
        assert re.fullmatch(rf"Refunds take fourteen days. \[{NUMBER.pattern}\]", copied)
        await page.reload()


@pytest.mark.usefixtures("policy")
async def test_what_was_found_and_not_named_is_no_source(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("search_docs", {"queries": ["refunds"]})
    fake_provider.reply("Refunds take fourteen days, see Return policy [3] and `row[0]`.")
    await ask(page, "How long?")
    await answered(page)
    for _ in range(2):
        await expect(page.get_by_role("button", name="Copy the answer")).to_be_visible()
        await expect(page.locator(".sources, .cite")).to_have_count(0)
        await expect(last_answer(page)).to_contain_text("Return policy [3]")
        await page.reload()


@pytest.mark.usefixtures("policy")
async def test_sources_open_in_the_widget(shop: Shop, fake_provider: FakeProvider) -> None:
    fake_provider.call("search_docs", {"queries": ["refunds"]})
    fake_provider.queue(citing("Refunds take fourteen days."))
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "How long?")
    await page.locator(".source").click()
    await expect(page.locator(".passage-text")).to_have_text("Refunds take fourteen days.")
    await page.get_by_role("button", name="Close the source").click()
    await expect(page.locator(".source")).to_be_focused()


async def test_several_tools_are_one_line_that_says_how_they_went(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.calls([("calculate", {"expression": "1+1"}), ("calculate", {"expression": "1/0"})])
    fake_provider.reply("Two.")
    await ask(page, "Add")
    line = page.locator(".activity > summary")
    await expect(line.locator(".tool-name")).to_have_text("Calculate × 2")
    await expect(line.locator(".tool-state")).to_have_text("1 of 2: failed")
    await expect(page.locator(".tool").first).to_be_hidden()
    await line.click()
    await expect(page.locator(".tool > summary .tool-state")).to_have_text(["Done", "Failed"])
    signs = await page.locator(".tool > summary .sign path").evaluate_all(
        "all => all.map((one) => one.getAttribute('d'))"
    )
    assert len(set(signs)) == 2
    await page.reload()
    await expect(line.locator(".tool-name")).to_have_text("Calculate × 2")


async def answer_by_keyboard(page: Page) -> None:
    """Fill in the question's form, in which the focus is, without a pointer."""
    await expect(page.get_by_label("Day")).to_be_focused()
    await page.get_by_label("Day").fill("2111-02-03")
    await page.get_by_label("People").press("Enter")
    await expect(page.get_by_role("alert").filter(has_text="This is needed.")).to_have_count(3)
    await expect(page.get_by_label("People")).to_be_focused()
    await page.keyboard.type("4")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Space")
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Space")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Space")
    await page.keyboard.press("Enter")


ANSWER = {"day": "2111-02-03", "people": 4, "seat": "Aisle", "extras": ["Bike"], "insured": True}


async def test_a_question_is_a_form_that_is_answered_by_keyboard(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_user")
    fake_provider.call("ask_user", QUESTION)
    await ask(page, "Book a table")
    await expect(page.locator(".approval .question")).to_have_text("When, and for how many?")
    await expect(page.locator(".tool > summary .tool-state")).to_have_text("Needs your answer")
    fake_provider.reply("Booked.")
    await answer_by_keyboard(page)
    await expect(last_answer(page)).to_have_text("Booked.")
    assert json.loads(fake_provider.requests[-1].last_text) == ANSWER
    await expect(page.locator(".approval")).to_have_count(0)
    await expect(page.get_by_label("Message to")).to_be_focused()


async def test_the_widget_asks_in_a_form_too(shop: Shop, fake_provider: FakeProvider, cast: Cast) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_user")
    fake_provider.call("ask_user", QUESTION)
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "Book a table")
    await expect(page.locator(".approval .question")).to_have_text("When, and for how many?")
    fake_provider.reply("Booked.")
    await answer_by_keyboard(page)
    await done(page)
    await expect(page.locator(".answer").last).to_have_text("Booked.")
    assert json.loads(fake_provider.requests[-1].last_text) == ANSWER


async def test_an_approval_says_what_changes(page: Page, fake_provider: FakeProvider, cast: Cast) -> None:
    from tools.models import Customer

    await sync_to_async(Customer.objects.create)(tenant_id=cast.acme.pk, number=42, name="Lena", city="Innsbruck")
    await ToolSetting.objects.acreate(tenant=cast.acme, tool="update_customer", policy="ask")
    fake_provider.call("update_customer", {"customer_id": 42, "city": "Graz"})
    await ask(page, "Lena moved to Graz")
    await expect(page.locator(".approval .question")).to_contain_text("Change a customer")
    await expect(page.locator(".approval del")).to_have_text("Innsbruck")
    await expect(page.locator(".approval ins")).to_have_text("Graz")
    await expect(page.locator(".approval dt")).to_have_text("City of Lena")
    await page.get_by_role("button", name="Edit arguments").click()
    await page.get_by_label("City").fill("Linz")
    fake_provider.reply("Done.")
    await page.get_by_role("button", name="Approve with these").click()
    await expect(last_answer(page)).to_have_text("Done.")
    assert await sync_to_async(lambda: Customer.objects.get(tenant_id=cast.acme.pk, number=42).city)() == "Linz"


async def test_an_approval_says_when_a_schedule_asks_first(page: Page, fake_provider: FakeProvider, cast: Cast) -> None:
    await sync_to_async(switch_tool)(cast.acme, "schedule_question")
    until = f"{datetime.now(UTC) + timedelta(days=60):%Y-%m-%d}"
    schedule = {"name": "Orders", "question": "Which are open?", "when": "0 9 * * 1", "until": until, "budget": 5}
    fake_provider.call("schedule_question", schedule)
    await ask(page, "Every Monday at 9, which orders are open?")
    facts = page.locator(".approval .facts")
    await expect(facts.locator("dt", has_text="Next").locator("+ dd")).to_have_text(
        re.compile(r"^Monday, .+, 9 a\.m\.$")
    )
    await expect(facts.locator("dt", has_text="Budget").locator("+ dd")).to_have_text("5")
    await expect(facts.locator("del")).to_have_count(0)


async def test_forms_fit_a_phone(phone: Visitor, fake_provider: FakeProvider, cast: Cast) -> None:
    await sync_to_async(switch_tool)(cast.acme, "ask_user")
    fake_provider.call("ask_user", QUESTION)
    page = await phone.open()
    await ask(page, "Book a table")
    await expect(page.locator(".approval")).to_be_visible()
    assert await fits(page)
    await page.evaluate("document.documentElement.dir = 'rtl'")
    assert await fits(page)


async def test_a_late_end_is_shown_as_what_it_was(page: Page) -> None:
    script = """async (status) => {
      const app = document.querySelector('script[type=module][src*="/app"]').src;
      const { ToolCard } = await import(app.replace(/app[^/]*$/, "toolcard.js"));
      const card = new ToolCard("c1", "charge");
      card.finish({ status: "timeout", durationMs: 300 });
      card.late({ status, durationMs: 8000, content: "" });
      return card.stateText;
    }"""
    shown = [await page.evaluate(script, status) for status in ("ok", "error", "unknown", "cancelled")]
    assert shown == ["Timed out, completed later", "Timed out, failed later", "Outcome unknown", "Stopped"]

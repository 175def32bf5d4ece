"""Changed questions, other answers and the switch between them, on the page and in the widget."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.acts import answered, ask, last_answer, questions
from tests.browser.conftest import Visitor
from tests.browser.test_widget import Shop, host, open_widget, shop  # noqa: F401 - fixtures
from tests.browser.test_widget import ask as ask_widget
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


async def test_a_question_is_changed_answered_again_and_its_versions_are_switched_in_two_tabs(
    page: Page, fake_provider: FakeProvider
) -> None:
    fake_provider.queue(reply("One."), reply("Two."), reply("Blue."), reply("Cut off", finish="length"))
    await ask(page, "Count")
    await answered(page)
    await page.get_by_role("button", name="Ask again").click()
    await expect(last_answer(page)).to_have_text("Two.")
    await answered(page)
    # By keyboard: the empty box's arrow opens the form of the last question.
    await page.get_by_role("textbox", name="Message to").press("ArrowUp")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("textbox", name="Message to")).to_be_focused()
    await page.keyboard.press("ArrowUp")
    await page.get_by_label("Your question").fill("Colours")
    await page.keyboard.press("Enter")
    await expect(last_answer(page)).to_have_text("Blue.")
    await expect(questions(page)).to_have_text(["Colours"])
    await answered(page)
    other = await page.context.new_page()
    await other.goto(page.url)
    await expect(last_answer(other)).to_have_text("Blue.")
    await page.bring_to_front()
    await page.get_by_role("button", name="Previous version").click()
    for tab in (page, other):
        await expect(last_answer(tab)).to_have_text("Two.")
        await expect(questions(tab)).to_have_text(["Count"])
    await expect(page.get_by_role("button", name="Next version").first).to_be_focused()
    await expect(page.get_by_role("status")).to_have_text("Version 1 of 2")
    await page.get_by_role("group", name="Version 2 of 2").get_by_role("button", name="Previous version").click()
    await expect(last_answer(page)).to_have_text("One.")
    await page.reload()
    await expect(last_answer(page)).to_have_text("One.")
    # An answer that reached the model's limit can go on, after a reload too.
    await ask(page, "More")
    await expect(last_answer(page)).to_have_text("Cut off")
    await page.reload()
    fake_provider.reply("and on.")
    await page.get_by_role("button", name="Continue").click()
    await expect(last_answer(page)).to_have_text("and on.")
    await expect(questions(page)).to_have_text(["Count", "More"])
    await expect(page.get_by_role("button", name="Continue")).to_have_count(0)


async def test_the_widget_switches_between_versions_too(shop: Shop, fake_provider: FakeProvider) -> None:
    fake_provider.queue(reply("One."), reply("Two."), reply("Blue."))
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "Count")
    await page.get_by_role("button", name="Ask again").click()
    await expect(page.locator(".answer")).to_have_text("Two.")
    await page.locator(".user").hover()
    await page.get_by_role("button", name="Edit the question").click()
    await page.get_by_label("Your question").fill("Colours")
    await page.get_by_role("button", name="Send the change").click()
    await expect(page.locator(".answer")).to_have_text("Blue.")
    await page.get_by_role("button", name="Previous version").click()
    await expect(page.locator(".answer")).to_have_text("Two.")
    await expect(page.get_by_role("button", name="Next version").first).to_be_focused()
    await expect(page.locator(".bubble")).to_have_text("Count")


async def test_escape_leaves_the_form_of_a_question_from_anywhere_and_keeps_what_was_written(
    page: Page, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("One.")
    await ask(page, "Count")
    await answered(page)
    form, box = page.locator(".edit-form"), page.get_by_role("textbox", name="Message to")
    await page.get_by_role("button", name="Edit the question").click()
    await page.keyboard.type(" on")
    await last_answer(page).click()
    await page.keyboard.press("Escape")
    await expect(form).to_have_count(0)
    await page.get_by_role("button", name="Edit the question").click()
    await expect(page.get_by_label("Your question")).to_have_value("Count on")
    await box.click()
    await page.keyboard.press("Escape")
    await expect(form).to_have_count(0)
    await expect(box).to_be_focused()


async def test_escape_leaves_the_form_of_a_question_before_it_stops_an_answer(
    page: Page, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("One.")
    await ask(page, "Count")
    await answered(page)
    await page.get_by_role("button", name="Edit the question").click()
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Two", gate, " and three."])
    await page.get_by_role("textbox", name="Message to").fill("Go on")
    await page.keyboard.press("Enter")
    await expect(last_answer(page)).to_have_text("Two")
    await page.keyboard.press("Escape")
    await expect(page.locator(".edit-form")).to_have_count(0)
    gate.release()
    await answered(page)
    await expect(last_answer(page)).to_have_text("Two and three.")


async def test_edit_works_again_after_a_press_without_a_network(
    alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    alice_browser.allows_lost_connection = True
    page = await alice_browser.open()
    await page.route("**/edit_form.js", lambda route: route.abort())
    fake_provider.reply("One.")
    await ask(page, "Count")
    await answered(page)
    edit = page.get_by_role("button", name="Edit the question")
    await edit.click()
    await expect(page.locator(".edit-form")).to_have_count(0)
    await page.unroute("**/edit_form.js")
    await edit.click()
    await expect(page.locator(".edit-form")).to_have_count(1)


async def test_escape_leaves_the_form_of_a_question_before_the_widget(shop: Shop, fake_provider: FakeProvider) -> None:
    page = await shop.visit()
    await open_widget(page)
    fake_provider.reply("One.")
    await ask_widget(page, "Count")
    await expect(page.locator(".answer")).to_have_text("One.")
    await page.get_by_role("button", name="Edit the question").click()
    await page.get_by_label("Message to Acme Support").click()
    await page.keyboard.press("Escape")
    await expect(page.locator(".edit-form")).to_have_count(0)
    await expect(page.get_by_role("heading", name="Acme Support")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("heading", name="Acme Support")).to_be_hidden()

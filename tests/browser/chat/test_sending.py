"""Sending a message in the page and in the widget: double clicks, input methods, messages that are too long."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Locator, Page, Route, expect

from assistant.models import TenantLimits
from tests.base import Cast
from tests.browser.acts import answered, ask, last_answer
from tests.browser.conftest import Visitor
from tests.browser.test_widget import Shop, host, open_widget, shop  # noqa: F401 - fixtures
from tests.fake_provider import FakeProvider

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


async def test_a_double_click_on_send_sends_and_does_not_stop(page: Page, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Here ", gate, "it is."])
    await page.get_by_label("Message to").fill("Hi")
    await page.get_by_role("button", name="Send").dblclick()
    await expect(last_answer(page)).to_have_text("Here")
    gate.release()
    await answered(page)
    await expect(last_answer(page)).to_have_text("Here it is.")
    await expect(page.get_by_text("Stopped.")).to_have_count(0)
    await expect(page.get_by_label("Message to")).to_have_value("")


async def test_a_double_click_in_the_widget_sends_and_does_not_stop(shop: Shop, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Here ", gate, "it is."])
    page = await shop.visit()
    await open_widget(page)
    await page.get_by_label("Message to Acme Support").fill("Hi")
    await page.get_by_role("button", name="Send").dblclick()
    await expect(page.locator(".answer")).to_have_text("Here")
    gate.release()
    await answered(page)
    await expect(page.locator(".answer")).to_have_text("Here it is.")
    await expect(page.get_by_text("Stopped.")).to_have_count(0)


def confirm_composition(box: str) -> str:
    """Press the Enter that confirms what an input method composed, as Safari reports it."""
    init = '{key: "Enter", keyCode: 229, bubbles: true, cancelable: true}'
    return f"{box}.dispatchEvent(new KeyboardEvent('keydown', {init}))"


async def test_an_input_methods_enter_does_not_send(page: Page) -> None:
    box = page.get_by_label("Message to")
    await box.fill("運費")
    assert await box.evaluate(f"(box) => {confirm_composition('box')}") is True
    await expect(box).to_have_value("運費")
    await expect(page.locator(".bubble")).to_have_count(0)


async def test_an_input_methods_enter_does_not_send_in_the_widget(shop: Shop) -> None:
    page = await shop.visit()
    await open_widget(page)
    box = page.get_by_label("Message to Acme Support")
    await box.fill("運費")
    assert await box.evaluate(f"(box) => {confirm_composition('box')}") is True
    await expect(box).to_have_value("運費")
    await expect(page.locator(".bubble")).to_have_count(0)


async def test_on_a_phone_enter_starts_a_line_in_the_widget_as_in_the_page(shop: Shop) -> None:
    page = await shop.visit(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    await open_widget(page)
    box = page.get_by_label("Message to Acme Support")
    await box.fill("One")
    await box.press("Enter")
    await expect(box).to_have_value("One\n")
    await expect(page.locator(".bubble")).to_have_count(0)


TOO_LONG = "This message has 200,001 characters. At most 200,000 can be sent"


async def test_a_message_that_is_too_long_stays_in_the_box(page: Page, fake_provider: FakeProvider) -> None:
    box = page.get_by_label("Message to")
    await box.fill("x" * 200_001)
    await expect(page.get_by_role("alert").filter(has_text=TOO_LONG)).to_be_visible()
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await box.press("Enter")
    assert len(await box.input_value()) == 200_001
    await expect(page.locator(".bubble")).to_have_count(0)
    fake_provider.reply("Long, but good.")
    await box.fill("line\n" * 400)
    await page.get_by_role("button", name="Send").click()
    await expect(last_answer(page)).to_have_text("Long, but good.")
    assert await page.locator(".bubble").evaluate("(bubble) => bubble.clientHeight < innerHeight")
    await expect(page.locator("#too-long")).to_be_hidden()


async def test_letters_of_several_bytes_count_too(page: Page) -> None:
    box = page.get_by_label("Message to")
    await box.fill("語" * 100_000)
    await expect(page.locator("#too-long")).to_contain_text("At most 87,000 can be sent")
    await box.fill("語" * 87_000)
    await expect(page.locator("#too-long")).to_be_hidden()


async def test_a_message_that_is_too_long_stays_in_the_widgets_box(shop: Shop) -> None:
    page = await shop.visit()
    await open_widget(page)
    box = page.get_by_label("Message to Acme Support")
    await box.fill("x" * 200_001)
    await expect(page.get_by_role("alert").filter(has_text=TOO_LONG)).to_be_visible()
    await box.press("Enter")
    assert len(await box.input_value()) == 200_001
    await expect(page.locator(".bubble")).to_have_count(0)


# How what is within closed details is hidden.
LOCKED = """(box) => [...box.getRootNode().querySelectorAll("details:not([open])")].map(
    (one) => getComputedStyle(one, "::details-content").contentVisibility)"""


async def check_nothing_is_locked_while_written(box: Locator) -> None:
    """What a search in the page opens slows each line of a text that is deleted, in Chromium, so nothing is then."""
    await box.evaluate("(box) => box.blur()")
    locked = await box.evaluate(LOCKED)
    assert locked and set(locked) == {"hidden"}
    await box.focus()
    assert set(await box.evaluate(LOCKED)) == {"visible"}


async def test_a_long_text_is_deleted_at_once(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Yes.", reasoning="Let me think about it.")
    await ask(page, "Well?")
    await expect(last_answer(page)).to_have_text("Yes.")
    await answered(page)
    await check_nothing_is_locked_while_written(page.get_by_label("Message to"))
    await expect(page.get_by_text("Let me think about it.")).to_be_hidden()


async def test_a_long_text_is_deleted_at_once_in_the_widget(shop: Shop, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Yes.", reasoning="Let me think about it.")
    page = await shop.visit()
    await open_widget(page)
    await ask(page, "Well?")
    await expect(last_answer(page)).to_have_text("Yes.")
    await answered(page)
    await check_nothing_is_locked_while_written(page.get_by_label("Message to"))
    await expect(page.get_by_text("Let me think about it.")).to_be_hidden()


DROP = """(target) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["a"], "a.txt", { type: "text/plain" }));
    const init = { dataTransfer, bubbles: true, composed: true, cancelable: true };
    return ["dragover", "drop"].map((name) => !target.dispatchEvent(new DragEvent(name, init)));
}"""
NO_FILES = "Files cannot be sent to the assistant."


async def test_a_dropped_file_does_not_replace_the_page(alice_browser: Visitor, cast: Cast) -> None:
    await TenantLimits.objects.acreate(tenant=cast.acme, attachment_kinds="none")
    page = await alice_browser.open()
    assert await page.locator("#scroller").evaluate(DROP) == [True, True]
    await expect(page.locator("#connection")).to_contain_text(NO_FILES)


async def test_a_file_dropped_on_the_widget_does_not_replace_the_hosts_page(shop: Shop, cast: Cast) -> None:
    await TenantLimits.objects.acreate(tenant=cast.acme, attachment_kinds="none")
    page = await shop.visit()
    await open_widget(page)
    assert await page.locator(".scroller").evaluate(DROP) == [True, True]
    await expect(page.locator(".trouble")).to_contain_text(NO_FILES)
    assert await page.locator("h1").evaluate(DROP) == [False, False]


@pytest.mark.parametrize("is_entered", [False, True])
async def test_what_is_written_before_the_scripts_are_there_is_kept(
    alice_browser: Visitor, fake_provider: FakeProvider, is_entered: bool
) -> None:
    release = asyncio.Event()

    async def hold(route: Route) -> None:
        await release.wait()
        await route.continue_()

    await alice_browser.context.route("**/js/composer.js*", hold)
    page = await alice_browser.context.new_page()
    await page.goto(f"{alice_browser.origin}/t/acme/", wait_until="commit")
    await page.locator("#message").fill("I was early")
    if is_entered:
        await page.locator("#message").press("Enter")
    fake_provider.reply("You were.")
    release.set()
    if not is_entered:
        await page.get_by_role("button", name="Send").click()
    await expect(last_answer(page)).to_have_text("You were.")
    await expect(page.locator(".turn.user .bubble")).to_have_text("I was early")
    await expect(page.locator("#message")).to_have_value("")
    assert len(fake_provider.requests) == 1


async def test_a_draft_that_ends_with_a_new_line_is_not_sent(
    alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    page = await alice_browser.open()
    await page.locator("#message").press_sequentially("Not yet")
    await page.locator("#message").press("Shift+Enter")
    await page.reload()
    await expect(page.locator("#message")).to_have_value("Not yet\n")
    await page.wait_for_timeout(1000)
    assert fake_provider.requests == []
    await expect(page.locator("#message")).to_have_value("Not yet\n")


async def test_who_sends_before_the_chosen_conversation_is_there_stays(
    alice_browser: Visitor, fake_provider: FakeProvider
) -> None:
    page, waiting = await alice_browser.open(), asyncio.Event()
    await expect(page.get_by_label("Message to")).to_be_editable()

    async def hold(route: Route) -> None:
        await waiting.wait()
        await route.continue_()

    await page.route("**/t/acme/?assistant=support", hold)
    await page.get_by_role("link", name="New conversation").first.click()
    fake_provider.reply("Here.")
    await page.get_by_label("Message to").fill("Where am I?")
    await page.get_by_label("Message to").press("Enter")
    await answered(page)
    async with page.expect_response("**/t/acme/?assistant=support"):
        waiting.set()
    await page.wait_for_url("**/t/acme/c/*/")
    await page.reload()
    await expect(page.locator(".turn.user .bubble")).to_have_text(["Where am I?"])
    await expect(last_answer(page)).to_have_text("Here.")

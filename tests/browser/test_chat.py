"""Talking to an assistant in the browser: sign in, ask, watch, stop, try again."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from assistant.contrib.branding.models import Brand
from assistant.models import TenantLimits
from tests.base import Cast
from tests.browser.acts import answered, answers, ask, last_answer, questions
from tests.browser.conftest import Visitor, sign_in
from tests.factories import switch_tool
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_an_anonymous_visitor_reaches_the_chat_after_signing_in(browser: Browser, site: Server) -> None:
    page = await browser.new_page()
    await page.goto(f"{site.url}/t/acme/")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await sign_in(page, site.url)
    await expect(page.get_by_role("heading", name="How can Acme Support help?")).to_be_visible()


async def test_wrong_password_says_so_and_keeps_the_name(browser: Browser, site: Server) -> None:
    page = await browser.new_page()
    await page.goto(f"{site.url}/accounts/login/")
    await page.get_by_label("User name").fill("alice")
    await page.get_by_label("Password").fill("wrong")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("do not match")
    await expect(page.get_by_label("User name")).to_have_value("alice")


async def test_an_answer_is_seen_while_it_streams(page: Page, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hello ", "there", gate, ", Alice."])
    await ask(page, "Hi")
    await expect(last_answer(page)).to_have_text("Hello there")
    await expect(page.get_by_role("button", name="Stop the answer")).to_be_visible()
    gate.release()
    await answered(page)
    await expect(last_answer(page)).to_have_text("Hello there, Alice.")


async def test_a_block_is_rendered_as_soon_as_it_is_closed(page: Page, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Some 😀 **bold** text.\r", "\n\r\nAnd *more", gate, "*."])
    await ask(page, "Format")
    await expect(last_answer(page).locator("strong")).to_have_text("bold")
    await expect(last_answer(page).locator(".open em")).to_have_text("more")
    gate.release()
    await expect(last_answer(page).locator(".closed em")).to_have_text("more")
    await expect(last_answer(page).locator(".open")).to_be_empty()


async def test_the_conversation_has_an_address_and_survives_a_reload(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("# Title\n\nText with `code`.")
    await ask(page, "Remember this")
    await answered(page)
    await page.wait_for_url("**/t/acme/c/*/")
    await page.reload()
    await expect(questions(page)).to_have_text("Remember this")
    await expect(last_answer(page).locator("h3")).to_have_text("Title")
    await expect(last_answer(page).locator("code")).to_have_text("code")
    await expect(page.locator("#conversations [aria-current=page]")).to_contain_text("Remember this")


async def test_a_tool_call_is_a_card_that_folds_when_it_is_done(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    fake_provider.call("calculate", {"expression": "12.5% of 840"})
    fake_provider.reply("It is 105.")
    await ask(page, "What is 12.5% of 840?")
    await answered(page)
    card = page.locator(".tool")
    await expect(card).to_have_attribute("data-state", "ok")
    await expect(card.locator("summary")).to_contain_text("Calculate")
    await expect(card.locator(".tool-result")).not_to_be_visible()
    await card.locator("summary").click()
    await expect(card.locator(".tool-arguments")).to_contain_text("12.5% of 840")
    await expect(card.locator(".tool-result")).to_contain_text("105")
    await expect(last_answer(page)).to_have_text("It is 105.")


async def test_an_answer_that_waits_for_its_turn_says_so(
    page: Page, site: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    await in_db(TenantLimits.objects.create)(tenant=cast.acme, member_runs=1)
    gate = fake_provider.gate()
    fake_provider.queue(reply(chunks=["One", gate]), reply("Two"))
    async with open_socket(site.url, user=cast.alice) as socket:
        await socket.start("First")
        await ask(page, "Second")
        waiting = page.get_by_text("Waiting: too many answers at once.")
        await expect(waiting).to_be_visible()
        gate.release()
        await expect(last_answer(page)).to_have_text("Two")
        await expect(waiting).not_to_be_visible()


async def test_the_stop_button_ends_the_answer_and_keeps_what_was_said(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=["This much ", fake_provider.gate(), "and no more"])
    await ask(page, "Go on")
    await expect(last_answer(page)).to_have_text("This much")
    await page.get_by_role("button", name="Stop the answer").click()
    await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()
    await expect(last_answer(page)).to_have_text("This much")
    await answered(page)


async def test_an_error_is_a_clear_sentence_and_can_be_tried_again(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.respond(401)
    await ask(page, "Hello?")
    await expect(page.locator(".failure-text")).not_to_be_empty()
    fake_provider.reply("Here I am.")
    await page.get_by_role("button", name="Try again").click()
    await expect(last_answer(page)).to_have_text("Here I am.")
    await expect(page.locator(".failure")).to_have_count(0)
    await expect(questions(page)).to_have_count(1)


async def test_an_error_after_a_tool_can_be_tried_again(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("calculate", {"expression": "1+1"})
    fake_provider.respond(401)
    await ask(page, "One and one?")
    await expect(page.locator(".failure-text")).not_to_be_empty()
    fake_provider.reply("Two.")
    await page.get_by_role("button", name="Try again").click()
    await expect(last_answer(page)).to_have_text("Two.")


async def test_a_starter_asks_its_question(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("She is fine.")
    await page.get_by_role("button", name="Tell me about customer 42").click()
    await expect(last_answer(page)).to_have_text("She is fine.")
    await expect(questions(page)).to_have_text("Tell me about customer 42")


async def test_the_page_says_which_provider_and_model_answer(page: Page, cast: Cast) -> None:
    await in_db(Brand.objects.create)(tenant=cast.acme, shows_model=True)
    await page.reload()
    await expect(page.locator("#provider")).to_contain_text("test-model")


@pytest.fixture
def asks_first(cast: Cast) -> None:
    switch_tool(cast.acme, "calculate", "ask")


@pytest.mark.usefixtures("asks_first")
async def test_a_call_that_needs_approval_runs_when_it_is_approved(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("calculate", {"expression": "2+2"})
    await ask(page, "Add")
    await expect(page.locator(".tool")).to_have_attribute("data-state", "awaiting_approval")
    fake_provider.reply("Four.")
    await page.get_by_role("button", name="Approve").click()
    await expect(last_answer(page)).to_have_text("Four.")
    await expect(page.locator(".tool")).to_have_attribute("data-state", "ok")
    await expect(page.locator(".approval")).to_have_count(0)


@pytest.mark.usefixtures("asks_first")
async def test_the_arguments_can_be_edited_before_they_are_approved(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("calculate", {"expression": "2+2"})
    await ask(page, "Add")
    await page.get_by_role("button", name="Edit arguments").click()
    area = page.get_by_label("Expression")
    await expect(area).to_have_value("2+2")
    await area.fill("")
    await page.get_by_role("button", name="Approve with these").click()
    await expect(page.get_by_role("alert").filter(has_text="This is needed.")).to_be_visible()
    await area.fill("20+22")
    fake_provider.reply("Forty-two.")
    await page.get_by_role("button", name="Approve with these").click()
    await expect(last_answer(page)).to_have_text("Forty-two.")
    await page.locator(".tool summary").click()
    await expect(page.locator(".tool-result")).to_contain_text("42")


@pytest.mark.usefixtures("asks_first")
async def test_a_rejection_tells_the_assistant_why(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("calculate", {"expression": "2+2"})
    await ask(page, "Add")
    await page.get_by_role("button", name="Reject").click()
    await page.get_by_label("Reason, for the assistant").fill("Use your head")
    fake_provider.reply("All right.")
    await page.get_by_role("button", name="Reject").click()
    await expect(last_answer(page)).to_have_text("All right.")
    assert "Use your head" in fake_provider.requests[-1].last_text


@pytest.mark.usefixtures("asks_first")
async def test_an_open_question_for_approval_survives_a_reload(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("calculate", {"expression": "2+2"})
    await ask(page, "Add")
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    await page.reload()
    fake_provider.reply("Four.")
    await page.get_by_role("button", name="Approve").click()
    await expect(last_answer(page)).to_have_text("Four.")


async def test_code_has_its_language_and_can_be_copied(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("```python\nprint('hi')\n```\n")
    await ask(page, "Code, please")
    await answered(page)
    await expect(page.locator(".code-lang")).to_have_text("python")
    await page.get_by_role("button", name="Copy", exact=True).click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == "print('hi')\n"


async def test_reasoning_is_folded_away(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Yes.", reasoning="Let me think about it.")
    await ask(page, "Well?")
    await answered(page)
    await expect(page.get_by_text("Let me think about it.")).not_to_be_visible()
    await page.get_by_text("Thoughts").click()
    await expect(page.get_by_text("Let me think about it.")).to_be_visible()


async def test_a_long_answer_is_complete_whatever_its_pieces(page: Page, fake_provider: FakeProvider) -> None:
    text = "".join(f"w{number} " for number in range(3000))
    fake_provider.reply(text)
    await ask(page, "Much")
    await answered(page)
    assert (await last_answer(page).inner_text()).split() == text.split()
    await expect(answers(page)).to_have_count(1)


WATCH_OTHERS = """() => {
    window.touched = [];
    const turn = (node) => (node.nodeType === 1 ? node : node.parentElement).closest(".turn");
    const last = [...document.querySelectorAll(".turn")].at(-1);
    const observer = new MutationObserver((records) => {
        touched.push(...records.filter((record) => turn(record.target) !== last));
    });
    const everything = {subtree: true, childList: true, characterData: true, attributes: true};
    observer.observe(document.querySelector("#transcript .group"), everything);
}"""


async def test_a_streaming_answer_touches_nothing_but_its_own_end(page: Page, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply("An earlier **answer**.")
    await ask(page, "First")
    await answered(page)
    fake_provider.reply(chunks=["Start ", gate, *(f"w{number} " for number in range(300)), "\n\n- a\n- b\n\nEnd"])
    await ask(page, "Second")
    await expect(last_answer(page)).to_have_text("Start")
    await page.evaluate(WATCH_OTHERS)
    gate.release()
    await answered(page)
    assert await page.evaluate("touched.length") == 0


async def test_rivals_see_their_own_organisation_only(alice_browser: Visitor) -> None:
    page = await alice_browser.context.new_page()
    response = await page.goto(f"{alice_browser.origin}/t/globex/")
    assert response is not None
    assert response.status == 404
    await expect(page.get_by_role("heading", name="Page not found")).to_be_visible()

"""The reader's place: questions at the top, answers that grow below, and returns to where one was."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Locator, Page, expect

from assistant.models import Conversation
from tests.base import Cast
from tests.browser.acts import answered, ask, last_answer, questions
from tests.browser.conftest import Visitor
from tests.factories import make_conversation, make_message, make_run
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
SHIFTS = """window.shifts = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.shifts += one.value;
}).observe({ type: "layout-shift", buffered: false });"""
LARGEST_SHIFT = 0.02  # of the page's height and width, as Chromium counts it
NEAR = 2  # pixels
MOST_NODES = 12  # of a message with two words that stand out
# A hit is shown near the top, below its question's end.
AT_TOP = """(one) => {
  const scroller = document.querySelector("#scroller");
  const top = one.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
  return top >= 0 && top < 40;
}"""
AWAIT_SCROLL = """() => {
  const scroller = document.querySelector("#scroller");
  window.scrolled = new Promise((done) => scroller.addEventListener("scrollend", () => done(), { once: true }));
}"""
TOP = 40  # pixels below the top of the transcript, in which a question at the top begins
PARAGRAPHS = "".join(f"Paragraph {number} says what was asked.\n\n" for number in range(60))
HEAD = "| Order | Customer | What was ordered | Amount |\n|---|---|---|--:|\n"
ROW = "| {0} | Customer number {0} | {1} | {0}.50 |\n"
ROWS = [ROW.format(number, "a description " * (number % 7 + 1)) for number in range(12)]


async def top_of(element: Locator) -> float:
    """How far below the top of the transcript an element begins, in pixels."""
    return float(
        await element.evaluate(
            "(one) => one.getBoundingClientRect().top - document.querySelector('#scroller').getBoundingClientRect().top"
        )
    )


async def comes_to(element: Locator, top: float) -> None:
    """Wait until an element begins there: a place is returned to once the transcript is drawn."""
    for _step in range(500):
        if abs(await top_of(element) - top) <= NEAR:
            return
        await element.page.wait_for_timeout(20)
    assert abs(await top_of(element) - top) <= NEAR


async def shifts(page: Page) -> float:
    await page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    return float(await page.evaluate("window.shifts"))


async def wheel(page: Page, pixels: float) -> None:
    """Turn the wheel over the transcript, and wait until it stands: browsers scroll smoothly."""
    await page.mouse.move(600, 400)
    await page.evaluate(AWAIT_SCROLL)
    await page.mouse.wheel(0, pixels)
    await page.evaluate("window.scrolled")


async def test_a_question_goes_to_the_top_and_its_answer_grows_below(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Short.")
    await ask(page, "First")
    await answered(page)
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["A word.\n\n", gate, PARAGRAPHS])
    await ask(page, "Second")
    await expect(last_answer(page)).to_contain_text("A word.")
    question = questions(page).last
    before = await top_of(question)
    assert 0 <= before <= TOP
    gate.release()
    await answered(page)
    await expect(last_answer(page)).to_contain_text("Paragraph 59")
    assert abs(await top_of(question) - before) <= NEAR
    jump = page.get_by_role("button", name="Jump to latest")
    await expect(jump).to_be_visible()
    # The pointer leaves the focus in the box; the keyboard goes on from the newest message.
    await page.get_by_label("Message to").focus()
    await jump.click()
    await expect(page.get_by_text("Paragraph 59")).to_be_in_viewport()
    await expect(page.get_by_label("Message to")).to_be_focused()
    await wheel(page, -300)
    await jump.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn.assistant").last).to_be_focused()


async def test_a_long_question_does_not_let_its_answer_drag_the_reader_along(
    page: Page, fake_provider: FakeProvider
) -> None:
    gates = [fake_provider.gate() for _ in range(8)]
    chunks = [part for gate in gates for part in (gate, "Some words more.\n\n" * 2)]
    fake_provider.reply(chunks=["A word.\n\n", *chunks, PARAGRAPHS])
    await ask(page, "\n".join(f"Line {number} of a long question" for number in range(14)))
    answer = last_answer(page)
    await expect(answer).to_contain_text("A word.")
    before = await top_of(questions(page).last)
    for number, gate in enumerate(gates, start=1):
        gate.release()
        await expect(answer.get_by_text("Some words more.")).to_have_count(2 * number)
        assert abs(await top_of(questions(page).last) - before) <= NEAR
    await answered(page)
    assert abs(await top_of(questions(page).last) - before) <= NEAR


async def test_back_reload_and_a_switch_return_to_where_one_was(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.queue(reply(PARAGRAPHS), reply("Short."))
    await ask(page, "Much")
    await answered(page)
    await ask(page, "Little")
    await answered(page)
    question = questions(page).last
    at_top = await top_of(question)
    assert at_top <= TOP
    await page.reload()
    await expect(last_answer(page)).to_have_text("Short.")
    await expect(question).to_be_in_viewport()
    await comes_to(question, at_top)
    await wheel(page, -700)
    await expect(page.get_by_role("button", name="Jump to latest")).to_be_visible()
    read = page.get_by_text("Paragraph 50 says")
    before = await top_of(read)
    await page.reload()
    await expect(read).to_be_in_viewport()
    await comes_to(read, before)
    await page.get_by_role("link", name="New conversation").first.click()
    await expect(page.locator("#welcome")).to_be_visible()
    await page.go_back()
    await expect(read).to_be_in_viewport()
    await comes_to(read, before)


async def test_an_answer_of_which_nothing_is_read_yet_is_shown_from_its_end(
    page: Page, fake_provider: FakeProvider
) -> None:
    fake_provider.reply(PARAGRAPHS)
    await ask(page, "Much")
    await answered(page)
    await wheel(page, 10_000)
    await expect(page.get_by_role("button", name="Jump to latest")).to_be_hidden()
    await page.reload()
    await expect(page.get_by_text("Paragraph 59")).to_be_in_viewport()


async def test_a_wide_table_and_the_end_of_its_answer_shift_nothing(page: Page, fake_provider: FakeProvider) -> None:
    rows = [part for row in ROWS for part in (row[:9], row[9:30], row[30:])]
    fake_provider.reply(chunks=["Some orders:\n\n", HEAD, *rows, "\nThat is all."], delay=0.02)
    await page.evaluate(SHIFTS)
    await ask(page, "Orders")
    await expect(last_answer(page)).to_contain_text("That is all.")
    await answered(page)
    await expect(page.locator(".footer .about time")).to_be_visible()
    assert await shifts(page) < LARGEST_SHIFT


async def test_a_table_whose_head_comes_in_pieces_has_room_for_all_its_columns(
    page: Page, fake_provider: FakeProvider
) -> None:
    gates = [fake_provider.gate() for _ in range(2)]
    row = "| 1 | Ada | 5 |\n"
    fake_provider.reply(
        chunks=["| Order | Customer | Total |\n|---|---", gates[0], "|--:|\n", gates[1], row * 3, "\nAll."]
    )
    await ask(page, "Orders")
    table = page.locator(".answer .table")
    await expect(table.locator("th").first).to_be_visible()
    for gate in gates:
        gate.release()
    await answered(page)
    await expect(last_answer(page)).to_contain_text("All.")
    assert await table.evaluate("(one) => one.scrollWidth <= one.clientWidth")


async def test_a_switch_between_versions_shifts_nothing(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.queue(*(reply(f"{name}.\n\n{PARAGRAPHS[:800]}") for name in ("Before", "One", "Two")))
    await ask(page, "Zero")
    await answered(page)
    await ask(page, "Count")
    await answered(page)
    await page.get_by_role("button", name="Ask again").click()
    await expect(last_answer(page)).to_contain_text("Two.")
    await answered(page)
    switch = page.get_by_role("button", name="Previous version")
    await switch.hover()
    before = await top_of(questions(page).last)
    await page.evaluate(SHIFTS)
    await switch.click()
    await expect(last_answer(page)).to_contain_text("One.")
    await expect(page.locator(".footer .about time").last).to_be_visible()
    assert await shifts(page) < LARGEST_SHIFT
    assert abs(await top_of(questions(page).last) - before) <= NEAR


async def test_a_search_opens_a_conversation_at_its_hit(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.queue(reply("The word is rhubarb."), reply(PARAGRAPHS), reply("Last."))
    for text in ("First", "Second", "Third"):
        await ask(page, text)
        await answered(page)
    await page.get_by_role("link", name="New conversation").first.click()
    await expect(page.locator("#welcome")).to_be_visible()
    await page.get_by_label("Search conversations").fill("rhubarb")
    await page.locator(".conversation a", has_text="rhubarb").click()
    hit = page.get_by_role("log").get_by_text("The word is rhubarb.", exact=True)
    await expect(hit).to_be_in_viewport()
    await page.wait_for_function(AT_TOP, arg=await hit.element_handle())
    address = page.url
    assert "#" in address
    await page.goto("about:blank")
    await page.goto(address)
    await expect(hit).to_be_in_viewport()


@sync_to_async
def _long(cast: Cast, count: int) -> Conversation:
    made = make_conversation(cast.alice, cast.support, title="Long")
    run = make_run(made)
    for number in range(count):
        role = "assistant" if number % 2 else "user"
        make_message(made, role, f"**Message** {number} of *many*.", position=number, run=run)
    return made


async def test_a_thousand_messages_are_few_nodes_and_all_are_found_read_and_printed(
    alice_browser: Visitor, cast: Cast
) -> None:
    conversation = await _long(cast, 1000)
    page = await alice_browser.open(f"/t/acme/c/{conversation.client_id}/")
    await expect(page.get_by_text("Message 999 of many.")).to_be_in_viewport()
    assert await page.evaluate("document.querySelectorAll('#transcript *').length") < 1000 * MOST_NODES
    assert await page.evaluate("document.querySelectorAll('#transcript .footer').length") < 60
    assert await page.evaluate("window.find('Message 17 of many')")
    first = page.get_by_text("Message 1 of many.")
    await first.scroll_into_view_if_needed()
    await expect(page.locator(".turn.assistant .footer").first).to_be_in_viewport()
    await page.emulate_media(media="print")
    assert "Message 501 of many" in await page.locator("#transcript").inner_text()
    tree = await page.locator("#transcript").aria_snapshot()
    assert tree.count("article") >= 1000

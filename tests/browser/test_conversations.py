"""The list and the box: switching in place, drafts, waiting messages, search and jump, pins, archive, later pages."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from assistant.models import Conversation
from tests.base import Cast
from tests.browser.acts import answered, ask, fits, last_answer
from tests.browser.conftest import Visitor
from tests.browser.test_widget import Shop, done, host, open_widget, shop  # noqa: F401 - fixtures
from tests.browser.test_widget import ask as ask_widget
from tests.factories import make_conversation, make_message, make_run
from tests.fake_provider import FakeProvider

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


def make_talk(cast: Cast, title: str, answer: str = "An answer.") -> Conversation:
    """A conversation of Alice with one question and its answer."""
    talk = make_conversation(cast.alice, cast.support, title=title, run_count=1, message_count=3)
    run = make_run(talk, status="finished", ending={"type": "RUN_FINISHED", "threadId": str(talk.pk), "runId": "r"})
    make_message(talk, "user", f"Tell me: {title}", run=run)
    make_message(talk, "assistant", answer, run=run)
    return talk


@pytest.fixture
def talks(cast: Cast) -> list[Conversation]:
    return [make_talk(cast, title) for title in ("Apples", "Pears", "Plums")]


def titles(page: Page) -> object:
    return page.locator("#conversations .conversation .title")


@pytest.mark.usefixtures("talks")
async def test_conversations_are_switched_without_a_page_load(page: Page, fake_provider: FakeProvider) -> None:
    await page.evaluate("window.isFirstLoad = true")
    await page.get_by_role("link", name="Apples").click()
    await expect(last_answer(page)).to_have_text("An answer.")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Apples")
    await expect(page.get_by_label("Message to")).to_be_focused()
    await expect(page.locator("#conversations [aria-current]")).to_contain_text("Apples")
    await page.get_by_role("link", name="Pears").click()
    await expect(page.locator(".turn.user .bubble")).to_have_text(["Tell me: Pears"])
    fake_provider.reply("Sweet.")
    await ask(page, "How are they?")
    await expect(last_answer(page)).to_have_text("Sweet.")
    await page.go_back()
    await expect(page.locator(".turn.user .bubble")).to_have_text(["Tell me: Apples"])
    await page.get_by_role("link", name="New conversation").first.click()
    await expect(page.get_by_role("heading", name="How can Acme Support help?")).to_be_visible()
    fake_provider.reply("New.")
    await ask(page, "Something new")
    await expect(last_answer(page)).to_have_text("New.")
    assert await page.evaluate("window.isFirstLoad")
    await page.reload()
    await expect(last_answer(page)).to_have_text("New.")


@pytest.mark.usefixtures("talks")
async def test_an_answer_goes_on_while_another_conversation_is_open(page: Page, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once ", gate, "upon a time."])
    await ask(page, "A story")
    await expect(last_answer(page)).to_have_text("Once")
    await page.get_by_role("link", name="Pears").click()
    await expect(last_answer(page)).to_have_text("An answer.")
    gate.release()
    await page.get_by_role("link", name="A story").click()
    await expect(last_answer(page)).to_have_text("Once upon a time.")


@pytest.mark.usefixtures("talks")
async def test_what_was_written_is_kept_for_each_conversation(page: Page) -> None:
    box = page.get_by_label("Message to")
    await box.fill("For a new one")
    await page.get_by_role("link", name="Apples").click()
    await expect(box).to_have_value("")
    await box.fill("For the apples")
    await page.get_by_role("link", name="Pears").click()
    await expect(box).to_have_value("")
    await page.get_by_role("link", name="Apples").click()
    await expect(box).to_have_value("For the apples")
    await page.reload()
    await expect(box).to_have_value("For the apples")
    await page.get_by_role("link", name="New conversation").first.click()
    await expect(box).to_have_value("For a new one")


async def test_a_message_written_during_an_answer_waits_and_can_be_taken_back(
    page: Page, fake_provider: FakeProvider
) -> None:
    gates = [fake_provider.gate(), fake_provider.gate()]
    for gate in gates:
        fake_provider.reply(chunks=["Well ", gate, "said."])
    await ask(page, "First")
    await expect(last_answer(page)).to_have_text("Well")
    await ask(page, "Second")
    waiting = page.get_by_role("group", name="Waiting message")
    await expect(waiting).to_contain_text("Second")
    await expect(page.locator(".bubble")).to_have_text(["First"])
    gates[0].release()
    await expect(page.locator(".bubble")).to_have_text(["First", "Second"])
    await expect(waiting).to_be_hidden()
    await ask(page, "Third")
    await waiting.get_by_role("button", name="Take back").click()
    await expect(page.get_by_label("Message to")).to_have_value("Third")
    await expect(waiting).to_be_hidden()
    await page.get_by_role("button", name="Send").click()
    await page.get_by_role("button", name="Stop the answer").click()
    await expect(page.get_by_label("Message to")).to_have_value("Third")
    await expect(page.locator(".bubble")).to_have_text(["First", "Second"])
    gates[1].release()


async def test_a_visitor_of_the_widget_need_not_wait_either(shop: Shop, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Well ", gate, "said."])
    fake_provider.reply("Again.")
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "First")
    await expect(page.locator(".answer")).to_have_text("Well")
    await ask_widget(page, "Second")
    await expect(page.get_by_role("group", name="Waiting message")).to_contain_text("Second")
    gate.release()
    await expect(page.locator(".bubble")).to_have_text(["First", "Second"])
    await done(page)
    await expect(page.locator(".answer").last).to_have_text("Again.")


@pytest.mark.usefixtures("talks")
async def test_search_and_jump_by_keyboard(page: Page, cast: Cast) -> None:
    await sync_to_async(make_talk)(cast, "Letters", "The needle is in the haystack.")
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await page.keyboard.type("needle")
    await expect(page.locator(".snippet")).to_have_text("The needle is in the haystack.")
    await expect(page.locator(".snippet mark")).to_have_text("needle")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(last_answer(page)).to_have_text("The needle is in the haystack.")
    await expect(page.get_by_label("Message to")).to_be_focused()
    await expect(page.get_by_role("searchbox")).to_have_value("")
    await expect(page.locator(".snippet")).to_have_count(0)


async def test_a_sheet_tells_the_shortcuts(page: Page) -> None:
    await page.get_by_label("Message to").press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(sheet).to_be_hidden()
    await expect(page.get_by_label("Message to")).to_have_value("?")
    await page.get_by_label("Appearance").focus()
    await page.keyboard.press("?")
    await expect(sheet).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(sheet).to_be_hidden()


async def choose(page: Page, name: str) -> None:
    await page.locator("#conversation-menu > summary").click()
    await page.locator("#conversation-menu").get_by_role("button", name=name, exact=True).click()


@pytest.mark.usefixtures("talks")
async def test_one_is_pinned_and_one_archived(page: Page) -> None:
    await page.get_by_role("link", name="Apples").click()
    await choose(page, "Pin")
    groups = page.locator("#conversations .group-title")
    await expect(groups).to_have_text(["Pinned", "Today"])
    await expect(titles(page)).to_have_text(["Apples", "Plums", "Pears"])  # type: ignore[arg-type]
    await choose(page, "Unpin")
    await expect(groups).to_have_text(["Today"])
    await choose(page, "Archive")
    await expect(titles(page)).to_have_text(["Plums", "Pears"])  # type: ignore[arg-type]
    await page.get_by_role("button", name="Archived conversations").click()
    await expect(titles(page)).to_have_text(["Apples"])  # type: ignore[arg-type]
    await choose(page, "Restore")
    await expect(page.locator("#conversations")).to_contain_text("Nothing is archived.")


async def test_days_are_named_and_later_pages_come_by_themselves(page: Page, cast: Cast) -> None:
    def make() -> None:
        from datetime import timedelta

        from django.utils import timezone

        for number in range(120):
            talk = make_conversation(cast.alice, cast.support, title=f"Talk {number}")
            moment = timezone.now() - timedelta(days=number)
            Conversation.objects.filter(pk=talk.pk).update(updated_at=moment)

    await sync_to_async(make)()
    await page.reload()
    await expect(page.locator("#conversations .group-title")).to_have_text(["Today", "Yesterday", "Earlier"])
    await page.locator("#conversations .conversation").last.scroll_into_view_if_needed()
    await expect(page.locator("#conversations .conversation")).to_have_count(100)
    await page.locator("#conversations .conversation").last.scroll_into_view_if_needed()
    await expect(page.locator("#conversations .conversation")).to_have_count(120)
    before = await page.locator(".sidebar nav").evaluate("(one) => one.scrollTop")
    await page.get_by_role("link", name="Talk 118 ").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Talk 118")
    assert await page.locator(".sidebar nav").evaluate("(one) => one.scrollTop") >= before > 0


async def test_a_new_conversation_of_another_tab_appears(alice_browser: Visitor, fake_provider: FakeProvider) -> None:
    first, second = await alice_browser.open(), await alice_browser.open()
    await ask(second, "From the second tab")
    await answered(second)
    await expect(first.get_by_role("link", name="From the second tab")).to_be_visible()


@pytest.mark.usefixtures("talks")
async def test_a_conversation_is_exported_and_printed(page: Page) -> None:
    await page.get_by_role("link", name="Apples").click()
    for name, ending in (("Export as Markdown", ".md"), ("Export as JSON", ".json")):
        async with page.expect_download() as download:
            await choose(page, name)
        found = await download.value
        assert found.suggested_filename.endswith(ending)
        assert "Tell me: Apples" in (await found.path()).read_text()
    await page.evaluate("window.print = () => (document.title = 'printed')")
    await choose(page, "Print")
    await expect(page).to_have_title("printed")


@pytest.mark.usefixtures("talks")
async def test_the_list_can_be_put_away(page: Page) -> None:
    await page.get_by_role("button", name="Close the list").click()
    await expect(page.get_by_role("complementary")).to_be_hidden()
    await page.reload()
    await expect(page.get_by_role("complementary")).to_be_hidden()
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await page.get_by_role("link", name="Apples").click()
    await expect(page.get_by_role("complementary")).to_be_visible()


@pytest.mark.usefixtures("talks")
async def test_a_phone_switches_from_its_drawer(phone: Visitor) -> None:
    page = await phone.open()
    await page.get_by_role("button", name="Open the list").click()
    await page.get_by_role("link", name="Pears").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Pears")
    await expect(page.locator("#sidebar")).to_have_js_property("inert", True)
    await expect(page.locator("#sidebar")).to_be_hidden()
    await page.get_by_role("button", name="Open the list").click()
    await expect(page.get_by_role("link", name="Apples")).to_be_visible()
    assert await fits(page)

"""What is done in passing says so, and can be taken back: archive, share, files, questions left open, imports."""

from __future__ import annotations

from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from assistant.contrib.shares.models import ConversationShare
from assistant.models import Conversation
from tests.base import Cast
from tests.browser.acts import answered, ask, questions
from tests.browser.chat.test_attachments import BAD, TEXT, chips, choose
from tests.browser.conftest import Visitor
from tests.contrib.shares.sharing import set_sharing
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


async def test_archiving_and_sharing_can_be_taken_back(page: Page, fake_provider: FakeProvider, cast: Cast) -> None:
    await sync_to_async(set_sharing)(cast.acme)
    await page.reload()
    fake_provider.reply("Here I am.")
    await ask(page, "Hello")
    await answered(page)
    await page.locator("#conversation-menu > summary").click()
    await page.get_by_role("button", name="Archive", exact=True).click()
    await expect(page.locator(".toast")).to_contain_text("Archived")
    await expect(page.locator(".conversation")).to_have_count(0)
    undo = page.get_by_role("button", name="Undo")
    await undo.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".conversation")).to_have_count(1)
    assert await Conversation.objects.filter(archived_at=None).acount() == 1
    await page.locator("#conversation-menu > summary").click()
    await page.get_by_role("button", name="Share…").click()
    dialog = page.get_by_role("dialog", name="Share this conversation")
    await dialog.get_by_role("button", name="Make a link").click()
    await expect(dialog.get_by_role("link")).to_be_visible()
    await dialog.get_by_role("button", name="Undo").click()
    await expect(dialog.get_by_role("link")).to_have_count(0)
    assert await ConversationShare.objects.acount() == 0


async def test_a_file_that_failed_is_left_behind_and_named(
    page: Page, fake_provider: FakeProvider, alice_browser: Visitor
) -> None:
    fake_provider.reply("Thirty days.")
    await choose(page, TEXT, BAD)
    await expect(chips(page).filter(has_text="returns.txt")).to_have_attribute("data-state", "done")
    await expect(chips(page).filter(has_text="a.pdf")).to_have_attribute("data-state", "failed")
    await ask(page, "How long?")
    await answered(page)
    await expect(page.locator(".toast")).to_contain_text("Not sent: a.pdf (")
    await expect(page.locator(".attached")).to_contain_text("returns.txt")
    await expect(chips(page)).to_have_count(0)
    alice_browser.problems = [one for one in alice_browser.problems if "415" not in one]


async def test_whoever_writes_on_is_asked_before_a_decision_is_left_open(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "1+1"})
    await ask(page, "Add")
    await expect(page.locator(".approval")).to_be_visible()
    await ask(page, "Never mind")
    dialog = page.get_by_role("dialog", name="Leave the question unanswered?")
    await dialog.get_by_role("button", name="Back").click()
    await expect(dialog).to_be_hidden()  # it leaves by motion
    await expect(page.get_by_label("Message to")).to_have_value("Never mind")
    await expect(questions(page)).to_have_text(["Add"])
    fake_provider.reply("All right.")
    await page.get_by_role("button", name="Send").click()
    await dialog.get_by_role("button", name="Send anyway").click()
    await expect(questions(page)).to_have_text(["Add", "Never mind"])
    await answered(page)
    await expect(page.get_by_label("Message to")).to_have_value("")


async def import_file(page: Page, file: Path) -> None:
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Import a conversation").click()
    await (await chooser.value).set_files(file)


async def test_an_exported_conversation_is_imported(
    page: Page, fake_provider: FakeProvider, alice_browser: Visitor, tmp_path: Path
) -> None:
    fake_provider.reply("Here I am.")
    await ask(page, "Hello")
    await answered(page)
    await page.locator("#conversation-menu > summary").click()
    async with page.expect_download() as started:
        await page.get_by_role("button", name="Export as JSON").click()
    file = tmp_path / "export.json"
    await (await started.value).save_as(file)
    address = page.url
    await import_file(page, file)
    await expect(page.locator(".conversation")).to_have_count(2)
    await page.wait_for_url(lambda url: url != address)
    await expect(page.locator(".answer")).to_have_text("Here I am.")
    fake_provider.reply("Again.")
    await ask(page, "Once more")
    await expect(page.locator(".answer").last).to_have_text("Again.")
    file.write_text(file.read_text().replace("Here I am", "I am changed"))
    await import_file(page, file)
    await expect(page.locator(".toast:not(.leaving)")).to_contain_text("it was changed")
    alice_browser.problems = [one for one in alice_browser.problems if "400" not in one]

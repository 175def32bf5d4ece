"""What a conversation shows after a reload: answers that were cut off or stopped, conversations made elsewhere."""

from __future__ import annotations

from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from playwright.async_api import Page, expect

from assistant.core.values import events
from assistant.models import Conversation, Message, Run
from tests.base import Cast
from tests.browser.acts import answered, ask, last_answer
from tests.browser.conftest import Visitor
from tests.browser.test_widget import Shop, done, host, open_widget, shop  # noqa: F401 - fixtures
from tests.browser.test_widget import ask as ask_widget
from tests.factories import make_conversation, make_message
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider
from tests.services.runs.recovery.dead_runs import TEXT, leave_run

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

CUT = "The answer was cut off: it reached the model's length limit."


async def test_an_answer_cut_at_its_length_is_marked_after_a_reload(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.queue(reply("Half of", finish="length"), reply("All of it."))
    await ask(page, "Go on")
    await expect(page.get_by_text(CUT)).to_be_visible()
    await page.reload()
    await expect(last_answer(page)).to_have_text("Half of")
    await expect(page.get_by_text(CUT)).to_have_count(1)
    await ask(page, "And now?")
    await expect(last_answer(page)).to_have_text("All of it.")
    await answered(page)
    await expect(page.get_by_text(CUT)).to_have_count(1)


async def test_the_widget_marks_cut_and_stopped_answers_after_a_reload(
    shop: Shop,
    fake_provider: FakeProvider,
) -> None:
    fake_provider.queue(reply("Half of", finish="length"), reply(chunks=["This much ", fake_provider.gate()]))
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "Go on")
    await done(page)
    await page.reload()
    await open_widget(page)
    await expect(page.get_by_text(CUT)).to_have_count(1)
    await ask_widget(page, "And now?")
    await expect(page.locator(".answer").last).to_have_text("This much")
    await page.get_by_role("button", name="Stop").click()
    await done(page)
    await page.reload()
    await open_widget(page)
    await expect(page.locator(".answer").last).to_have_text("This much")
    await expect(page.get_by_text(CUT)).to_have_count(1)
    await expect(page.get_by_text("Stopped.", exact=True)).to_have_count(1)


async def test_the_marks_of_a_stopped_answer_are_closed(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=["First.\n\nAll of it is **much too late", fake_provider.gate()])
    await ask(page, "Go on")
    bold = last_answer(page).locator("strong", has_text="much too late")
    await expect(bold).to_be_visible()
    await page.get_by_role("button", name="Stop the answer").click()
    for _ in range(2):
        await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()
        await expect(bold).to_be_visible()
        await expect(last_answer(page).locator("p").last).to_have_text("All of it is much too late")
        await page.reload()


async def test_the_marks_of_an_answer_that_is_stopped_in_the_widget_are_closed(
    shop: Shop, fake_provider: FakeProvider
) -> None:
    fake_provider.reply(chunks=["See [the guide](https://example", fake_provider.gate()])
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "Go on")
    await expect(page.locator(".answer").last).to_have_text("See the guide")
    await page.get_by_role("button", name="Stop").click()
    await done(page)
    await expect(page.locator(".answer").last).to_have_text("See the guide")
    await page.reload()
    await open_widget(page)
    await expect(page.locator(".answer").last).to_have_text("See the guide")


WRITTEN_AGAIN = "Cut off, and written again below"


async def test_an_answer_that_was_cut_by_a_dead_process_is_folded_away(
    alice_browser: Visitor, cast: Cast, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Once upon a time.")
    thought = [events.ReasoningMessageStart("m1-reasoning", "reasoning")]
    run = await sync_to_async(leave_run)(cast, [*thought, *TEXT])
    page = await alice_browser.open(f"/t/acme/c/{run.conversation_id}/")
    await expect(last_answer(page)).to_have_text("Once upon")
    # The process of the run is found dead while the page is open.
    await Run.objects.filter(pk=run.pk).aupdate(lease_until=timezone.now() - timedelta(minutes=1))
    await expect(last_answer(page)).to_have_text("Once upon a time.")
    for _ in range(2):
        fold = page.locator("details.superseded")
        await expect(fold.locator("summary").first).to_have_text(WRITTEN_AGAIN)
        await expect(fold.locator(".answer")).not_to_be_visible()
        await fold.locator("summary").first.click()
        await expect(fold.locator(".answer")).to_have_text("Once upon")
        await expect(page.get_by_text(CUT)).to_have_count(0)
        await page.reload()
        await expect(last_answer(page)).to_have_text("Once upon a time.")


async def test_the_widget_folds_away_what_was_written_again(shop: Shop, fake_provider: FakeProvider) -> None:
    page = await shop.visit()
    await open_widget(page)
    fake_provider.reply("Once upon a time.")
    await ask_widget(page, "Tell me")
    await done(page)
    await sync_to_async(add_superseded)()
    await page.reload()
    await open_widget(page)
    fold = page.locator("details.superseded")
    await expect(fold.locator("summary")).to_have_text(WRITTEN_AGAIN)
    await expect(fold.locator(".answer")).not_to_be_visible()
    await expect(page.locator(".items > .answer")).to_have_text("Once upon a time.")


def add_superseded() -> None:
    """Store a superseded message before the last answer."""
    answer = Message.objects.filter(role="assistant").latest("pk")
    Message.objects.filter(pk=answer.pk).update(position=answer.position + 1)
    make_message(
        answer.conversation,
        "assistant",
        "Once upon",
        run=answer.run,
        position=answer.position,
        is_partial=True,
        is_superseded=True,
    )
    Conversation.objects.filter(pk=answer.conversation_id).update(message_count=answer.position + 2)


async def test_a_conversation_made_over_rest_can_be_opened(
    alice_browser: Visitor, cast: Cast, fake_provider: FakeProvider
) -> None:
    made = await sync_to_async(make_conversation)(cast.alice, cast.support, title="Made elsewhere")
    page = await alice_browser.open(f"/t/acme/c/{made.pk}/")
    await expect(page.get_by_role("heading", name="How can Acme Support help?")).to_be_visible()
    await expect(page.locator("body[data-connection=open]")).to_be_attached()
    await expect(page.locator(".failure, .skeleton")).to_have_count(0)
    fake_provider.reply("Welcome.")
    await ask(page, "Hello")
    await expect(last_answer(page)).to_have_text("Welcome.")
    await page.reload()
    await expect(last_answer(page)).to_have_text("Welcome.")
    assert page.url.endswith(f"/c/{made.pk}/")

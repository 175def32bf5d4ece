"""Values of an answer show where they came from, on hover, focus and tap, and what came from nowhere is dotted."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from assistant.contrib.end_users.services.tokens import allow_origin
from assistant.contrib.receipts.models import Receipt
from assistant.contrib.shares.links import share_conversation
from assistant.models import Assistant, Conversation, Message, Passage
from assistant.services.knowledge.documents import add_document
from assistant.services.tenancy.members import find_member
from tests.api.calling import key_of
from tests.base import Cast
from tests.browser.acts import answered, ask, fits, last_answer
from tests.browser.conftest import Visitor, make_visitor
from tests.browser.test_widget import Shop, host, open_widget, shop, start_host, wait_for  # noqa: F401 - fixtures
from tests.browser.test_widget import ask as ask_widget
from tests.contrib.shares.sharing import set_sharing
from tests.factories import switch_tool
from tests.fake_answers import citing
from tests.fake_provider import FakeProvider
from tests.live import Server, free_port, serve
from tests.ws import session_cookie

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
SAID = """Order by phone? You can return **everything** within 14 days, or within 20 days for members.

- Shipping is free from 60 EUR.
- Write to returns@acme.example.

I have sent the form to you."""
PICTURES = os.environ.get("PICTURES", "")


@pytest.fixture(autouse=True)
def _policy(cast: Cast) -> None:
    Assistant.objects.filter(pk=cast.support.pk).update(extensions=["receipts"])
    switch_tool(cast.acme, "search_docs")
    text = "Goods may be returned within **14 days**. Shipping is free from 60 EUR. Write to returns@acme.example."
    add_document(tenant=cast.acme, title="Return policy", text=text, is_trusted=True)


async def picture(page: Page, name: str) -> None:
    """Take a picture, if somebody wants to look at it."""
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def marked(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("search_docs", {"queries": ["return goods"]})
    fake_provider.reply(SAID)
    await ask(page, "How long do I have?")
    await answered(page)
    await expect(page.locator(".receipt")).to_have_count(4)


async def test_a_value_shows_its_passage_with_the_sentence_lit(page: Page, fake_provider: FakeProvider) -> None:
    await marked(page, fake_provider)
    card = page.locator(".receipt-card")
    await page.get_by_text("14 days", exact=True).hover()
    await expect(card).to_contain_text("Return policy")
    await expect(card.locator("mark")).to_have_text("14 days")
    await expect(card.locator("q")).to_have_text("Goods may be returned within 14 days.")
    await picture(page, "light")
    await page.get_by_text("20 days", exact=True).hover()
    await expect(card).to_have_text("Not found in what was looked up")
    await picture(page, "light-not-found")
    await page.mouse.move(5, 5)
    await expect(card).to_be_hidden()
    await expect(page.locator(".receipt-note")).to_contain_text("sent")


async def test_the_marks_are_there_after_a_reload_and_are_reached_by_keys(
    page: Page, fake_provider: FakeProvider
) -> None:
    await marked(page, fake_provider)
    await page.reload()
    await expect(page.locator(".receipt")).to_have_text(["14 days", "20 days", "60 EUR", "returns@acme.example"])
    await page.locator(".receipt").first.focus()
    await page.keyboard.press("ArrowRight")
    await expect(page.locator(".receipt").nth(1)).to_be_focused()
    await expect(page.locator(".receipt-card")).to_have_text("Not found in what was looked up")
    await page.keyboard.press("Escape")
    await expect(page.locator(".receipt-card")).to_be_hidden()


async def test_what_a_card_opens_is_reached_by_keys(page: Page, cast: Cast, fake_provider: FakeProvider) -> None:
    for tool in ("get_customer", "find_customers"):
        await sync_to_async(switch_tool)(cast.acme, tool)
    # Two calls stand in one group, which is closed.
    fake_provider.calls([("find_customers", {"query": "42"}), ("get_customer", {"customer_id": 42})])
    fake_provider.reply("It is customer 42.")
    await ask(page, "Who is it?")
    await answered(page)
    mark = page.locator(".receipt").first
    await mark.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".receipt-card .receipt-link").first).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(mark).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    call = page.locator("details.tool[open]")
    await expect(call).to_have_count(1)
    await expect(call.locator("> summary")).to_be_focused()
    await expect(call).to_be_in_viewport()
    await expect(page.locator(".receipt-card")).to_be_hidden()


async def test_marks_move_no_line(page: Page, fake_provider: FakeProvider) -> None:
    await marked(page, fake_provider)
    answer = last_answer(page)
    with_marks = await answer.bounding_box()
    unmark = "(element) => element.querySelectorAll('.receipt').forEach((one) => one.replaceWith(...one.childNodes))"
    await answer.evaluate(unmark)
    assert with_marks == await answer.bounding_box()


async def test_a_number_that_was_not_offered_is_shown_no_longer_and_no_line_moves(
    page: Page, fake_provider: FakeProvider
) -> None:
    passage = await Passage.objects.aget()
    fake_provider.call("search_docs", {"queries": ["return goods"]})
    said = f"Within 14 days [99]. Shipping is free from 60 EUR [{passage.document_id}.{passage.position}, 7.2]."
    fake_provider.reply(said)
    await ask(page, "How long do I have?")
    await answered(page)
    dropped = page.locator(".receipt.dropped")
    await expect(dropped).to_have_count(2)
    answer = last_answer(page)
    await expect(answer).to_contain_text("14 days", use_inner_text=True)
    await expect(answer).not_to_contain_text(re.compile(r"99|7\.2"), use_inner_text=True)
    await dropped.first.hover()
    await expect(page.locator(".receipt-card")).to_have_text("No passage with this number was given")
    await picture(page, "dropped")
    await dropped.first.focus()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowRight")
    await expect(dropped.last).to_be_focused()
    box = await answer.bounding_box()
    await dropped.evaluate_all("(all) => all.forEach((one) => one.replaceWith(one.textContent))")
    assert box == await answer.bounding_box()
    await page.reload()
    await expect(dropped).to_have_count(2)


SELECTED = """(element) => {
  getSelection().selectAllChildren(element);
  return getSelection().toString();
}"""
CITED = (
    "😀 Say `[99]`, or within 14 days [99].\r\nShipping is free from 60 EUR [{own}, 7.2; 8].\r\n\r\n"
    "Write [98][{own}] to returns@acme.example [99]."
)
COPIED = (
    "😀 Say `[99]`, or within 14 days.\nShipping is free from 60 EUR [{own}].\n\nWrite [{own}] to returns@acme.example."
)


async def test_what_is_copied_is_what_is_shown(page: Page, fake_provider: FakeProvider) -> None:
    own = await cited(fake_provider)
    await ask(page, "How long do I have?")
    await answered(page)
    await expect(page.locator(".receipt.dropped")).to_have_count(4)
    for _time in range(2):
        await page.get_by_role("button", name="Copy the answer").click()
        assert await page.evaluate("navigator.clipboard.readText()") == COPIED.format(own=own)
        selected = await last_answer(page).evaluate(SELECTED)
        assert "14 days" in selected and "98" not in selected and "7.2" not in selected
        await page.reload()
        await expect(page.locator(".receipt.dropped")).to_have_count(4)
    # What is stored is as it was written.
    stored = await Message.objects.filter(role="assistant").order_by("pk").alast()
    assert stored is not None and stored.content == CITED.format(own=own)


async def test_what_is_copied_in_the_widget_is_what_is_shown(shop: Shop, fake_provider: FakeProvider) -> None:
    own = await cited(fake_provider)
    page = await shop.visit(permissions=["clipboard-read", "clipboard-write"])
    await open_widget(page)
    await ask_widget(page, "How long do I have?")
    await expect(page.locator(".receipt.dropped")).to_have_count(4)
    await page.get_by_role("button", name="Copy the answer").click()
    assert await page.evaluate("navigator.clipboard.readText()") == COPIED.format(own=own)
    await picture(page, "widget-dropped")


async def cited(fake_provider: FakeProvider) -> str:
    """Let the answer cite one passage that was given, by the number that is returned, and four that were not."""
    passage = await Passage.objects.aget()
    own = f"{passage.document_id}.{passage.position}"
    fake_provider.call("search_docs", {"queries": ["return goods"]})
    fake_provider.reply(CITED.format(own=own))
    return own


async def test_a_tap_shows_the_card_within_the_phone(phone: Visitor, fake_provider: FakeProvider) -> None:
    page = await phone.open()
    await marked(page, fake_provider)
    await page.get_by_text("returns@acme.example", exact=True).tap()
    card = page.locator(".receipt-card")
    await expect(card.locator("mark")).to_have_text("returns@acme.example")
    box = await card.bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390 and await fits(page)
    await picture(page, "phone")
    await page.locator(".turn.user").last.tap()
    await expect(card).to_be_hidden()


async def test_the_name_of_a_long_source_stays_within_the_phone(
    phone: Visitor, cast: Cast, fake_provider: FakeProvider
) -> None:
    title = "Return policy for goods that were bought in one of our stores or at a fair"
    await sync_to_async(add_document)(tenant=cast.acme, title=title, text="Fourteen days for returns.", is_trusted=True)
    page = await phone.open()
    fake_provider.call("search_docs", {"queries": ["fourteen days for returns"]})
    fake_provider.queue(citing("Fourteen days for returns."))
    await ask(page, "How long?")
    box = await page.locator(".source").filter(has_text="bought in").bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390


async def test_it_is_readable_in_the_dark(
    browser: Browser, site: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    visitor = await make_visitor(browser, site.url, color_scheme="dark")
    page = await visitor.open()
    await marked(page, fake_provider)
    await page.get_by_text("60 EUR", exact=True).hover()
    await expect(page.locator(".receipt-card mark")).to_have_text("60 EUR")
    await picture(page, "dark")
    assert visitor.problems == []
    await visitor.context.close()


async def test_an_assistant_without_receipts_shows_none(page: Page, cast: Cast, fake_provider: FakeProvider) -> None:
    await marked(page, fake_provider)
    await sync_to_async(Assistant.objects.filter(pk=cast.support.pk).update)(extensions=[])
    await page.reload()
    await expect(page.get_by_role("button", name="Copy the answer")).to_be_visible()
    await expect(page.locator(".receipt, .receipt-note")).to_have_count(0)
    assert await Receipt.objects.acount() == 1


async def test_a_visitor_sees_them_in_the_widget(shop: Shop, fake_provider: FakeProvider, cast: Cast) -> None:
    fake_provider.call("search_docs", {"queries": ["return goods"]})
    fake_provider.reply(SAID)
    page = await shop.visit()
    await open_widget(page)
    await ask_widget(page, "How long do I have?")
    marks = page.locator(".receipt")
    await expect(marks).to_have_text(["14 days", "20 days", "60 EUR", "returns@acme.example"])
    card = page.locator(".receipt-card")
    await marks.first.hover()
    await expect(card).to_have_text("From a document")
    assert await card.evaluate("(element) => getComputedStyle(element).position") == "fixed"
    await picture(page, "widget")
    await marks.first.focus()
    await page.keyboard.press("ArrowRight")
    await expect(card).to_have_text("Not found in what was looked up")
    # One layer at a time.
    await page.keyboard.press("Escape")
    await expect(card).to_be_hidden()
    await expect(page.locator(".panel")).to_be_visible()
    await expect(page.locator(".receipt-note")).to_contain_text("sent")
    await page.reload()
    await open_widget(page)
    await expect(marks).to_have_count(4)
    await page.set_viewport_size({"width": 390, "height": 700})
    await marks.last.click()
    box = await card.bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390
    await picture(page, "widget-phone")
    await page.mouse.click(5, 5)
    await expect(card).to_be_hidden()


@pytest.mark.usefixtures("site")
async def test_an_address_without_an_origin_is_of_the_assistants_site(
    browser: Browser, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "find_box")
    fake_provider.call("find_box", {"number": 77})
    fake_provider.reply("Box 77 weighs 12.5 kg.")
    port = free_port()
    shop = Shop(f"http://localhost:{port}", browser, [])
    key = await sync_to_async(key_of)(cast.acme, cast.amy, scopes=["end_users"])
    await sync_to_async(allow_origin)(assistant=cast.support, origin=shop.url)
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool"}) as server:
        process = start_host(port, server.url, key)
        try:
            await sync_to_async(wait_for)(f"{shop.url}/sign-in/", process)
            # A member in the widget of another origin: whose page asks with the session and its own origin.
            alice = await make_visitor(browser, server.url)
            granted = await alice.context.request.get(
                f"{server.url}/t/acme/widget-token/?assistant=support", headers={"Origin": shop.url}
            )
            grant = await granted.text()
            page = await shop.visit()
            await page.route("**/my-token/**", lambda route: route.fulfill(body=grant, content_type="application/json"))
            await open_widget(page)
            await ask_widget(page, "How heavy is box 77?")
            await page.get_by_text("12.5 kg", exact=True).hover()
            link = page.locator(".receipt-card").get_by_role("link", name="Open")
            assert await link.evaluate("(element) => element.href") == f"{server.url}/boxes/77/"
            await page.context.close()
            await alice.context.close()
        finally:
            process.terminate()
            process.wait(10)
    assert shop.problems == []


async def test_readers_of_a_link_see_them_without_passages(
    browser: Browser, site: Server, page: Page, cast: Cast, fake_provider: FakeProvider
) -> None:
    await marked(page, fake_provider)
    await sync_to_async(set_sharing)(cast.acme)
    made = await sync_to_async(share_of)(cast)
    amy = await make_visitor(browser, site.url, color_scheme="dark")
    name, _, value = (await sync_to_async(session_cookie)(cast.amy)).partition("=")
    await amy.context.add_cookies([{"name": name, "value": value, "url": site.url}])
    shared = await amy.open(f"/t/acme/s/{made}/")
    marks = shared.locator(".receipt")
    await expect(marks).to_have_text(["14 days", "20 days", "60 EUR", "returns@acme.example"])
    await marks.first.focus()
    await expect(shared.locator(".receipt-card")).to_have_text("From a document")
    await picture(shared, "shared-dark")
    await shared.set_viewport_size({"width": 390, "height": 700})
    await marks.last.click()
    await expect(shared.locator(".receipt-card")).to_have_text("From a document")
    assert await shared.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await picture(shared, "shared-phone")
    assert amy.problems == []
    await amy.context.close()


async def test_readers_of_a_link_see_the_numbers_that_were_offered(
    browser: Browser, site: Server, page: Page, cast: Cast, fake_provider: FakeProvider
) -> None:
    own = await cited(fake_provider)
    await ask(page, "How long do I have?")
    await answered(page)
    await sync_to_async(set_sharing)(cast.acme)
    made = await sync_to_async(share_of)(cast)
    amy = await make_visitor(browser, site.url)
    name, _, value = (await sync_to_async(session_cookie)(cast.amy)).partition("=")
    await amy.context.add_cookies([{"name": name, "value": value, "url": site.url}])
    shared = await amy.open(f"/t/acme/s/{made}/")
    dropped = shared.locator(".receipt.dropped")
    await expect(dropped).to_have_count(4)
    answer = shared.locator("[data-added]")
    box = await answer.bounding_box()
    shown = await answer.inner_text()
    assert f"60 EUR{own}." in shown and "7.2" not in shown and "98" not in shown
    await picture(shared, "shared-dropped")
    # The dots stand where numbers were, and not under those that are shown.
    dotted = "(all) => all.map((one) => getComputedStyle(one).backgroundImage !== 'none')"
    assert await dropped.evaluate_all(dotted) == [False] * 4
    assert all(await dropped.locator("> span").evaluate_all(dotted))
    await dropped.evaluate_all("(all) => all.forEach((one) => one.replaceWith(one.textContent))")
    assert box == await answer.bounding_box()
    await amy.context.close()


def share_of(cast: Cast) -> str:
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    share = share_conversation(member=member, conversation_id=Conversation.objects.get().pk)
    assert share is not None
    return str(share.pk)

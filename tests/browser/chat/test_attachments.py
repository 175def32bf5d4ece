"""Files in the chat page: chosen, dropped and pasted, shown before and after they are sent, and removed."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from assistant.models import Attachment, Provider, Tenant, TenantLimits
from tests.browser.acts import answered, last_answer
from tests.browser.conftest import Visitor
from tests.browser.test_widget import Shop, host, open_widget, shop  # noqa: F401 - fixtures
from tests.fake_answers import citing
from tests.fake_provider import FakeProvider
from tests.services.files import samples

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

TEXT = {"name": "returns.txt", "mimeType": "text/plain", "buffer": b"Thirty days."}
IMAGE = {"name": "dot.png", "mimeType": "image/png", "buffer": samples.PNG}
BAD = {"name": "a.pdf", "mimeType": "application/pdf", "buffer": samples.PNG}


async def see(page: Page, name: str) -> None:
    """Save a screenshot where SCREENSHOTS says, for people to look at."""
    if folder := os.environ.get("SCREENSHOTS"):
        await page.screenshot(path=Path(folder) / f"{name}.png")


def chips(page: Page) -> Locator:
    return page.get_by_role("list", name="Files of this message").get_by_role("listitem")


async def choose(page: Page, *files: Any) -> None:
    await page.locator("#file-input").set_input_files(list(files))


async def dispatch(page: Page, event: str, target: str, property_name: str) -> None:
    """Dispatch a drop or a paste of an image."""
    script = """([kind, target, property, data]) => {
      const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], "dot.png", { type: "image/png" }));
      const event = new Event(kind, { bubbles: true, cancelable: true });
      Object.defineProperty(event, property, { value: transfer });
      document.querySelector(target).dispatchEvent(event);
    }"""
    await page.evaluate(script, [event, target, property_name, base64.b64encode(samples.PNG).decode()])


async def test_a_document_is_chosen_sent_and_shown_after_a_reload(page: Page, fake_provider: FakeProvider) -> None:
    await choose(page, TEXT)
    chip = chips(page).filter(has_text="returns.txt")
    await expect(chip).to_have_attribute("data-state", "done")
    await page.get_by_label("Message to").fill("How long?")
    await see(page, "tray")
    fake_provider.reply("Thirty days.")
    await page.get_by_role("button", name="Send").click()
    await answered(page)
    assert "Thirty days." in fake_provider.requests[-1].json["messages"][-1]["content"]
    await expect(chips(page)).to_have_count(0)
    for _ in range(2):
        link = page.locator(".turn.user").get_by_role("link", name="returns.txt (12 bytes)")
        await expect(link).to_be_visible()
        await expect(page.locator(".turn.user .bubble")).to_have_text("How long?")
        await expect(last_answer(page)).to_have_text("Thirty days.")
        await see(page, "sent")
        await page.reload()
    async with page.expect_download() as saved:
        await link.click()
    assert Path(await (await saved.value).path()).read_bytes() == b"Thirty days."


async def test_an_image_is_dropped_or_pasted_and_sent_alone(page: Page, fake_provider: FakeProvider) -> None:
    await Provider.objects.aupdate(sees_images=True)
    await page.reload()
    await dispatch(page, "drop", "#scroller", "dataTransfer")
    await dispatch(page, "paste", "#message", "clipboardData")
    await expect(chips(page).locator("img")).to_have_count(2)
    await expect(chips(page).and_(page.locator("[data-state=done]"))).to_have_count(2)
    await see(page, "images")
    fake_provider.reply("Two dots.")
    await page.get_by_label("Message to").press("Enter")
    await answered(page)
    parts = fake_provider.requests[-1].json["messages"][-1]["content"]
    assert [part["type"] for part in parts] == ["image_url", "image_url"]
    await page.reload()
    pictures = page.locator(".turn.user img")
    await expect(pictures).to_have_count(2)
    assert await pictures.first.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 1
    await see(page, "sent-images")


async def test_a_model_that_cannot_see_is_said_before_sending(page: Page) -> None:
    await choose(page, IMAGE, TEXT)
    await expect(chips(page).filter(has_text="dot.png")).to_contain_text("cannot see images")
    await expect(chips(page).filter(has_text="returns.txt")).to_have_attribute("data-state", "done")
    await page.get_by_label("Message to").fill("What is it?")
    await see(page, "cannot-see")
    await page.get_by_role("button", name="Remove dot.png").click()
    await expect(page.get_by_role("button", name="Remove returns.txt")).to_be_focused()
    await expect(page.get_by_role("button", name="Send")).to_be_enabled()
    assert await Attachment.objects.acount() == 1


async def test_a_file_that_cannot_be_taken_says_why_and_loses_nothing(alice_browser: Visitor) -> None:
    page = await alice_browser.open()
    await page.get_by_label("Message to").fill("Read this")
    await choose(page, BAD)
    await expect(chips(page)).to_contain_text("named .pdf, but its content is something else")
    await see(page, "refused")
    remove = page.get_by_role("button", name="Remove a.pdf")
    await remove.focus()
    await page.keyboard.press("Enter")
    await expect(chips(page)).to_have_count(0)
    await expect(page.get_by_label("Message to")).to_be_focused()
    alice_browser.problems = [one for one in alice_browser.problems if "415" not in one]


async def test_a_removed_file_is_deleted_on_the_server(page: Page) -> None:
    await choose(page, TEXT)
    await expect(chips(page)).to_have_attribute("data-state", "done")
    async with page.expect_response(lambda answer: answer.request.method == "DELETE") as deleted:
        await page.get_by_role("button", name="Remove returns.txt").click()
    assert (await deleted.value).status == 204
    assert not await Attachment.objects.aexists()


async def test_an_edited_question_keeps_its_files(page: Page, fake_provider: FakeProvider) -> None:
    await choose(page, TEXT)
    await expect(chips(page)).to_have_attribute("data-state", "done")
    fake_provider.reply("Thirty days.")
    await page.get_by_label("Message to").fill("How long?")
    await page.get_by_role("button", name="Send").click()
    await answered(page)
    fake_provider.reply("Thirty, again.")
    await page.locator(".turn.user .edit").click()
    await page.get_by_label("Your question").fill("How many days?")
    await page.get_by_role("button", name="Send the change").click()
    await expect(last_answer(page)).to_have_text("Thirty, again.")
    await expect(page.locator(".turn.user").get_by_role("link", name="returns.txt (12 bytes)")).to_be_visible()
    sent = fake_provider.requests[-1].json["messages"][-1]["content"]
    assert "Thirty days." in sent and sent.endswith("How many days?")


async def test_what_is_refused_goes_back_into_the_box(page: Page, fake_provider: FakeProvider) -> None:
    acme = await Tenant.objects.aget(slug="acme")
    await choose(page, TEXT)
    await expect(chips(page)).to_have_attribute("data-state", "done")
    await TenantLimits.objects.acreate(tenant=acme, attachment_kinds="none")
    await page.get_by_label("Message to").fill("How long?")
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator(".failure")).to_contain_text("Files cannot be attached here.")
    await expect(page.get_by_label("Message to")).to_have_value("How long?")
    await expect(chips(page)).to_have_text("returns.txt12 bytes")
    assert not fake_provider.requests


async def test_a_changed_question_that_is_refused_goes_back_into_its_form(
    page: Page, fake_provider: FakeProvider
) -> None:
    acme = await Tenant.objects.aget(slug="acme")
    await choose(page, TEXT)
    await expect(chips(page)).to_have_attribute("data-state", "done")
    fake_provider.reply("Thirty days.")
    await page.get_by_label("Message to").fill("How long?")
    await page.get_by_role("button", name="Send").click()
    await answered(page)
    limits = await TenantLimits.objects.acreate(tenant=acme, attachment_kinds="none")
    await page.locator(".turn.user .edit").click()
    await page.get_by_label("Your question").fill("How many days?")
    await page.get_by_role("button", name="Send the change").click()
    await expect(page.locator(".failure")).to_contain_text("Files cannot be attached here.")
    await expect(page.get_by_label("Message to")).to_have_value("")
    await expect(page.get_by_label("Your question")).to_have_value("How many days?")
    await limits.adelete()
    fake_provider.reply("Thirty, again.")
    await page.get_by_label("Your question").press("Enter")
    await expect(last_answer(page)).to_have_text("Thirty, again.")
    await expect(page.locator(".turn.user .bubble")).to_have_text(["How many days?"])
    await expect(page.get_by_role("group", name="Version 2 of 2")).to_be_visible()


async def test_a_draft_keeps_its_files(alice_browser: Visitor, fake_provider: FakeProvider) -> None:
    page = await alice_browser.open()
    await choose(page, TEXT, {**TEXT, "name": "gone.txt"})
    await expect(chips(page).and_(page.locator("[data-state=done]"))).to_have_count(2)
    await page.get_by_label("Message to").fill("How long?")
    await Attachment.objects.filter(name="gone.txt").adelete()
    await page.reload()
    await expect(chips(page)).to_have_text("returns.txt12 bytes")
    await expect(page.get_by_label("Message to")).to_have_value("How long?")
    await page.get_by_role("link", name="New conversation").first.click()
    await expect(chips(page)).to_have_text("returns.txt12 bytes")
    fake_provider.reply("Thirty days.")
    await page.get_by_role("button", name="Send").click()
    await answered(page)
    await page.reload()
    await expect(page.locator(".turn.user").get_by_role("link", name="returns.txt (12 bytes)")).to_be_visible()
    await expect(chips(page)).to_have_count(0)
    alice_browser.problems = [one for one in alice_browser.problems if "404" not in one]


async def test_passages_of_files_are_numbered_in_the_answer_and_open(page: Page, fake_provider: FakeProvider) -> None:
    pdf = {"name": "valve.pdf", "mimeType": "application/pdf", "buffer": samples.PDF}
    slides = {"name": "plan.pptx", "mimeType": "application/octet-stream", "buffer": samples.PPTX}
    await choose(page, pdf, slides)
    await expect(chips(page).and_(page.locator("[data-state=done]"))).to_have_count(2)
    await page.get_by_label("Message to").fill("What do I do?")
    fake_provider.queue(citing("Turn the valve twice.", "Rent: 900 & more"))
    await page.get_by_role("button", name="Send").click()
    for _ in range(2):
        sources = page.get_by_role("list", name="Sources").get_by_role("listitem")
        await expect(sources).to_have_text(["2valve.pdf, page 2", "4plan.pptx, Slide 2: Costs"])
        await expect(page.locator(".answer")).to_have_text(
            "Turn the valve twice.2\n\nRent: 900 & more4", use_inner_text=True
        )
        await see(page, "sources")
        await page.get_by_role("button", name="Source 4: plan.pptx, Slide 2: Costs").first.click()
        side = page.get_by_role("dialog", name="Source")
        await expect(side).to_contain_text("Rent: 900 & more")
        await expect(side).to_contain_text("Slide 2: Costs")
        await see(page, "source-open")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Source 4: plan.pptx, Slide 2: Costs").first).to_be_focused()
        await page.reload()


async def test_passages_of_files_open_in_the_widget(shop: Shop, fake_provider: FakeProvider) -> None:
    page = await shop.visit()
    await open_widget(page)
    async with page.expect_file_chooser() as chosen:
        await page.get_by_role("button", name="Attach files").click()
    pdf = {"name": "valve.pdf", "mimeType": "application/pdf", "buffer": samples.PDF}
    await (await chosen.value).set_files([pdf])
    await expect(chips(page).and_(page.locator("[data-state=done]"))).to_have_count(1)
    fake_provider.queue(citing("Turn the valve twice."))
    await page.get_by_label("Message to Acme Support").fill("What do I do?")
    await page.keyboard.press("Enter")
    await expect(page.locator(".answer .cite")).to_have_text("2")
    await page.locator(".answer .cite").click()
    await expect(page.locator(".passage")).to_contain_text("page 2")
    await see(page, "widget-source")
    await page.get_by_role("button", name="Close the source").click()
    await expect(page.locator(".answer .cite")).to_be_focused()


async def test_where_nothing_can_be_attached_there_is_no_button(page: Page) -> None:
    await expect(page.get_by_role("button", name="Attach files")).to_be_visible()
    acme = await Tenant.objects.aget(slug="acme")
    await TenantLimits.objects.acreate(tenant=acme, attachment_kinds="none")
    await page.reload()
    await expect(page.get_by_label("Message to")).to_be_visible()
    await expect(page.get_by_role("button", name="Attach files")).to_have_count(0)
    await dispatch(page, "drop", "#scroller", "dataTransfer")
    await expect(page.get_by_text("Files cannot be sent to the assistant.").first).to_be_visible()


async def test_on_a_phone_the_files_fit(phone: Visitor) -> None:
    page = await phone.open()
    await page.emulate_media(color_scheme="dark")
    long = {**TEXT, "name": f"{'a very long name ' * 6}.txt"}
    await choose(page, TEXT, long, IMAGE)
    await expect(chips(page)).to_have_count(3)
    await expect(chips(page).and_(page.locator("[data-state=done]"))).to_have_count(2)
    await see(page, "phone-tray")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_a_visitor_of_the_widget_attaches_files(shop: Shop, fake_provider: FakeProvider) -> None:
    await Provider.objects.aupdate(sees_images=True)
    page = await shop.visit()
    await open_widget(page)
    async with page.expect_file_chooser() as chosen:
        await page.get_by_role("button", name="Attach files").click()
    await (await chosen.value).set_files([TEXT, IMAGE])
    done = chips(page).and_(page.locator("[data-state=done]"))
    await expect(done).to_have_count(2)
    await expect(chips(page).locator("img")).to_have_count(1)
    await page.get_by_label("Message to Acme Support").fill("How long?")
    await see(page, "widget-tray")
    fake_provider.reply("Thirty days.")
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator(".answer")).to_have_text("Thirty days.")
    told, picture = fake_provider.requests[-1].json["messages"][-1]["content"]
    assert "Thirty days." in told["text"] and picture["type"] == "image_url"
    for _ in range(2):
        sent = page.locator("article.user")
        await expect(sent.get_by_role("button", name="returns.txt (12 bytes)")).to_be_visible()
        await expect(sent.get_by_role("img", name="dot.png")).to_be_visible()
        await see(page, "widget-sent")
        await page.reload()
        await open_widget(page)


async def test_the_widget_has_no_button_where_nothing_can_be_attached(shop: Shop) -> None:
    acme = await Tenant.objects.aget(slug="acme")
    await TenantLimits.objects.acreate(tenant=acme, attachment_kinds="none")
    page = await shop.visit()
    await open_widget(page)
    await expect(page.get_by_label("Message to Acme Support")).to_be_visible()
    await expect(page.get_by_role("button", name="Attach files")).to_have_count(0)

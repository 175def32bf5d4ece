"""Where an assistant has several models, a member chooses which one answers a conversation in this window."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from assistant.models import Assistant
from tests.base import Cast
from tests.browser.acts import answered, ask, fits
from tests.browser.conftest import Visitor, make_visitor
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
OTHER = "gpt-4.1-large"


def models_of(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Model that answers")


@pytest.fixture
def _several(cast: Cast) -> None:
    Assistant.objects.filter(pk=cast.support.pk).update(other_models=[OTHER])


async def asked_models(page: Page, fake_provider: FakeProvider, question: str) -> str:
    """Ask, and return the model that the provider was asked for."""
    fake_provider.reply("Yes.")
    await ask(page, question)
    await answered(page)
    asked: str = fake_provider.requests[-1].json["model"]
    return asked


@pytest.mark.usefixtures("_several")
async def test_what_is_chosen_answers_after_a_reload_too_and_the_standard_one_again(
    page: Page, fake_provider: FakeProvider
) -> None:
    standard = await asked_models(page, fake_provider, "May I?")
    assert standard != OTHER
    await models_of(page).select_option(OTHER)
    assert await asked_models(page, fake_provider, "And now?") == OTHER
    await page.reload()
    await expect(models_of(page)).to_have_value(OTHER)
    assert await asked_models(page, fake_provider, "Still?") == OTHER
    await models_of(page).select_option("")
    assert await asked_models(page, fake_provider, "And then?") == standard


@pytest.mark.usefixtures("_several")
async def test_a_phone_has_room_for_it_and_another_conversation_begins_with_the_standard_model(phone: Visitor) -> None:
    page = await phone.open()
    await models_of(page).select_option(OTHER)
    assert await fits(page)
    text = await page.get_by_label("Message to").bounding_box()
    send = await page.locator("#send").bounding_box()
    tools = await models_of(page).bounding_box()
    assert text is not None and send is not None and tools is not None
    assert (
        text["y"] + text["height"] <= send["y"] + 1
    )  # the text has the whole width, and Send the end of the next line
    assert tools["x"] < send["x"] and send["x"] + send["width"] > text["x"] + text["width"] - 20
    await page.get_by_role("link", name="New conversation").first.click()
    await expect(models_of(page)).to_have_value("")


async def test_one_model_is_no_choice(page: Page) -> None:
    await expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    await expect(models_of(page)).to_have_count(0)


@pytest.mark.usefixtures("_several")
async def test_a_latin_name_is_cut_at_its_own_end_in_a_page_from_right_to_left(browser: Browser, site: Server) -> None:
    """What a list of choices shows of the chosen one has the direction of that choice's own text."""
    visitor = await make_visitor(browser, site.url, locale="ar")
    page = await visitor.open()
    await page.locator(".model-choice select").select_option(OTHER)
    await expect(page.locator("html")).to_have_attribute("dir", "rtl")
    await expect(page.locator(".model-choice option").last).to_have_css("unicode-bidi", "plaintext")
    await visitor.context.close()

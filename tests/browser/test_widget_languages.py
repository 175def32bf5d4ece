"""The widget's language: that of its element, else of the page, else of the browser."""

from __future__ import annotations

import json
import re

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from assistant.models import Assistant
from tests.base import Cast
from tests.browser.test_widget import Shop, host, shop  # noqa: F401 - fixtures
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


async def language_of(page: Page) -> str:
    return str(await page.locator("tenant-assistant .root").get_attribute("lang"))


async def test_the_element_says_which_language(
    shop: Shop,  # noqa: F811
    cast: Cast,
    fake_provider: FakeProvider,
) -> None:
    own = {"de": {"greeting": "Wobei darf es sein?"}}
    await sync_to_async(Assistant.objects.filter(pk=cast.support.pk).update)(greeting="Hi!", translations=own)
    page = await shop.visit(attributes="lang=de%20inline%20starters-de=Wohin?")
    await expect(page.locator("tenant-assistant .welcome p")).to_have_text("Wobei darf es sein?")
    await expect(page.locator("tenant-assistant .welcome button")).to_have_text(["Wohin?"])
    fake_provider.respond(401)
    await page.get_by_label("Nachricht an Acme Support").fill("Hallo")
    await page.keyboard.press("Enter")
    await expect(page.locator("tenant-assistant .failure")).to_have_text(
        re.compile("^Die Antwort konnte nicht beendet werden")
    )
    assert await language_of(page) == "de"


async def test_the_page_comes_before_the_browser(shop: Shop) -> None:  # noqa: F811
    page = await shop.visit(locale="de-DE")  # the shop's page is in English
    await expect(page.get_by_role("button", name="Open the assistant")).to_be_visible()
    assert await language_of(page) == "en"


@pytest.mark.parametrize(
    ("page_language", "preferred", "language", "direction"),
    [
        ("", "ar-EG", "ar", "rtl"),
        ("it", "pt-BR", "pt", "ltr"),
        ("zh-TW", "it-IT", "en", "ltr"),
        ("zh-CN", "de", "zh-hans", "ltr"),
    ],
)
async def test_a_language_that_we_do_not_have_leaves_it_to_the_browser(
    shop: Shop,  # noqa: F811
    page_language: str,
    preferred: str,
    language: str,
    direction: str,
) -> None:
    context = await shop.browser.new_context(locale=preferred)
    page = await context.new_page()
    lang = f"document.documentElement.lang = {json.dumps(page_language)}"
    await page.add_init_script(f"new MutationObserver(() => {{ {lang} }}).observe(document, {{ childList: true }})")
    await page.goto(shop.url)
    root = page.locator("tenant-assistant .root")
    await expect(root).to_have_attribute("lang", language)
    await expect(root).to_have_attribute("dir", direction)
    await context.close()


async def test_an_arabic_widget_draws_what_an_english_one_does(
    shop: Shop,  # noqa: F811
    cast: Cast,
) -> None:
    await sync_to_async(Assistant.objects.filter(pk=cast.support.pk).update)(greeting="How can we help?")
    page = await shop.visit(attributes="lang=ar%20inline%20starters-ar=Where%20is%20it?")
    attach = page.locator("tenant-assistant .attach")
    assert await attach.evaluate("(one) => getComputedStyle(one).backgroundColor") == "rgba(0, 0, 0, 0)"
    box = page.locator("tenant-assistant textarea")
    for part, direction in (
        (box, "rtl"),
        (page.locator("tenant-assistant .welcome p"), "ltr"),
        (page.locator("tenant-assistant .welcome button").first, "ltr"),
    ):
        await expect(part).to_be_visible()
        assert await part.evaluate("(one) => getComputedStyle(one).direction") == direction

"""A tenant's brand and a person's appearance in the browser: colours, letters, logo, and the menu of appearances."""

from __future__ import annotations

import struct
import zlib

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from assistant.contrib.branding.models import Brand, BrandImage
from assistant.contrib.branding.services.accent import shades
from assistant.models import PersonSettings
from tests.base import Cast
from tests.browser.conftest import Visitor, make_visitor
from tests.browser.test_widget import Shop, host, shop  # noqa: F401 - fixtures
from tests.live import Server

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
ROOT_THEME = "() => document.documentElement.dataset.theme ?? 'system'"
COLOUR = "(one, name) => getComputedStyle(one)[name]"


def picture() -> bytes:
    """Return a PNG of 8 by 8 red pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + b"\xff\0\0" * 8) * 8)
    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def give_brand(cast: Cast) -> None:
    logo = BrandImage.objects.create(tenant=cast.acme, media_type="image/png", data=picture())
    Brand.objects.create(
        tenant=cast.acme, name="Acme Desk", accent="#8A3A8F", greeting="What can we do for you?", logo=logo
    )


def rgb(colour: str) -> str:
    return f"rgb({', '.join(map(str, bytes.fromhex(colour[1:])))})"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_chat_has_the_brand_in_both_themes(scheme: str, browser: Browser, site: Server, cast: Cast) -> None:
    await sync_to_async(give_brand)(cast)
    visitor = await make_visitor(browser, site.url, color_scheme=scheme)
    page = await visitor.open()
    await expect(page.get_by_role("heading", name="What can we do for you?")).to_be_visible()
    await expect(page.locator(".tenant")).to_have_text("Acme Desk")
    assert await page.locator(".tenant .logo").evaluate("(one) => one.complete && one.naturalWidth") == 8
    light, dark = shades("#8a3a8f")
    accent = (dark if scheme == "dark" else light).accent
    assert await page.locator(".new-chat .icon").evaluate(COLOUR, "color") == rgb(accent)
    assert await page.title() == "Acme · Acme Desk"
    assert visitor.problems == []


async def test_letters_are_those_that_are_shipped(page: Page) -> None:
    await page.evaluate("document.fonts.ready")
    loaded = (
        "[...document.fonts].filter((one) => one.status === 'loaded').map((one) => one.family.replaceAll('\"', ''))"
    )
    assert await page.evaluate(loaded) == ["Inter Variable"]
    for heading in (page.locator(".welcome h2"), page.locator(".bar h1")):
        assert (await heading.evaluate(COLOUR, "fontFamily")).startswith('"Inter Variable"')


async def test_the_header_of_a_phone_is_one_line(phone: Visitor, cast: Cast) -> None:
    await sync_to_async(Brand.objects.create)(tenant=cast.acme, shows_model=True)
    page = await phone.open()
    title = await page.locator("#title").bounding_box()
    bar = await page.locator(".bar").bounding_box()
    assert title is not None and bar is not None
    assert bar["height"] < 64 and title["height"] < 30
    about = await page.locator(".answers").bounding_box()
    assert about is not None and about["width"] <= 1
    await expect(page.locator(".answers")).to_contain_text("Acme Support")


async def choose(page: Page, name: str) -> None:
    await page.get_by_label("Appearance").click()
    async with page.expect_response("**/accounts/settings/theme/") as stored:
        await page.get_by_role("button", name=name, exact=True).click()
    assert (await stored.value).status == 204


async def test_an_appearance_is_chosen_and_taken_back(page: Page, alice_browser: Visitor, cast: Cast) -> None:
    await choose(page, "Dark")
    assert await page.evaluate(ROOT_THEME) == "dark"
    await expect(page.locator(".theme-menu")).not_to_have_attribute("open", "")
    # On another device, which stores nothing, the page is dark before any script has run.
    other = await alice_browser.context.new_page()
    await other.route("**/*.js", lambda route: route.abort())
    alice_browser.allows_lost_connection = True
    await other.goto(page.url)
    assert await other.evaluate(ROOT_THEME) == "dark"
    await choose(page, "As the device")
    await page.reload()
    assert await page.evaluate(ROOT_THEME) == "system"
    assert await page.evaluate("localStorage.getItem('theme')") is None
    assert (await sync_to_async(PersonSettings.objects.get)(user=cast.alice)).theme == "system"


async def test_what_is_stored_in_the_browser_gives_way_to_what_the_person_has_set(page: Page, cast: Cast) -> None:
    await page.evaluate("localStorage.setItem('theme', 'dark')")
    await page.reload()
    assert await page.evaluate(ROOT_THEME) == "dark"
    await sync_to_async(PersonSettings.objects.create)(user=cast.alice, theme="light")
    await page.reload()
    assert await page.evaluate(ROOT_THEME) == "light"


async def test_caps_lock_is_said_before_a_password_is_refused(browser: Browser, site: Server) -> None:
    page = await browser.new_page()
    await page.goto(f"{site.url}/accounts/login/")
    hint = page.get_by_text("Caps Lock is on.")
    await expect(hint).to_be_hidden()
    password = page.get_by_label("Password")
    await password.dispatch_event("keydown", {"key": "A", "modifierCapsLock": True})
    await expect(hint).to_be_visible()
    await password.dispatch_event("keydown", {"key": "a", "modifierCapsLock": False})
    await expect(hint).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_widget_has_the_brand(theme: str, shop: Shop, cast: Cast) -> None:
    await sync_to_async(give_brand)(cast)
    page = await shop.visit(attributes=f"theme={theme}")
    await page.get_by_role("button", name="Open the assistant").click()
    await expect(page.get_by_role("heading", name="Acme Desk")).to_be_visible()
    await expect(page.get_by_text("What can we do for you?")).to_be_visible()
    await expect(page.locator(".head .logo")).to_be_visible()
    await page.mouse.move(1, 1)
    assert await page.locator(".launcher").evaluate(COLOUR, "backgroundColor") == rgb("#8a3a8f")


async def test_a_colour_of_the_host_page_comes_first(shop: Shop, cast: Cast) -> None:
    await sync_to_async(give_brand)(cast)
    page = await shop.visit(attributes="theme=light")
    await page.evaluate(
        "document.querySelector('tenant-assistant').style.setProperty('--tenant-assistant-accent', '#123456')"
    )
    await page.get_by_role("button", name="Open the assistant").click()
    await expect(page.get_by_role("heading", name="Acme Desk")).to_be_visible()
    await page.mouse.move(1, 1)
    assert await page.locator(".launcher").evaluate(COLOUR, "backgroundColor") == "rgb(18, 52, 86)"

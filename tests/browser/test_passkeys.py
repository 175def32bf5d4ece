"""A passkey is set up, proves the second factor, signs in alone and is removed, under the Content-Security-Policy."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.base import PASSWORD, Cast
from tests.browser.conftest import PATIENCE_MS, Visitor
from tests.live import serve

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

# What a laptop with a fingerprint reader is to a browser.
LAPTOP = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def origin(transactional_db: None, cast: Cast) -> Iterator[str]:
    """A site where second factors are on. Browsers know passkeys for names alone, not for addresses."""
    with serve(env={"ASSISTANT_SECOND_FACTOR": "optional"}) as server:
        yield server.url.replace("127.0.0.1", "localhost")


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, origin: str) -> AsyncIterator[Page]:
    """Alice's browser at the page for signing in; the test fails if anything went wrong on a page."""
    visitor = Visitor(await browser.new_context(), origin)
    page = await visitor.open("/accounts/login/")
    devtools = await visitor.context.new_cdp_session(page)
    await devtools.send("WebAuthn.enable")
    await devtools.send("WebAuthn.addVirtualAuthenticator", {"options": LAPTOP})
    yield page
    await visitor.context.close()
    assert visitor.problems == []


async def enter_password(page: Page) -> None:
    await page.get_by_label("User name").fill("alice")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()


async def sign_out(page: Page) -> None:
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_a_passkey_from_its_first_day_to_its_last(page: Page) -> None:
    page.set_default_timeout(PATIENCE_MS)
    await enter_password(page)
    await page.get_by_role("link", name="Your second factors").click()
    await page.get_by_role("link", name="Add a passkey").click()
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Go on").click()
    await page.get_by_label("A name for it").fill("Laptop")
    await page.get_by_label("Sign in with it alone").check()
    await page.get_by_role("button", name="Add the passkey").click()
    await expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    await expect(page.locator(".codes li")).to_have_count(10)
    await page.get_by_role("link", name="Back to your second factors").click()
    await expect(page.locator(".own-list li")).to_contain_text("Laptop")
    await page.get_by_role("link", name="Back to the chat").click()

    await sign_out(page)
    await enter_password(page)
    await expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("log")).to_be_attached()

    await sign_out(page)
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("log")).to_be_attached()

    await page.get_by_role("link", name="Your second factors").click()
    await page.get_by_role("link", name="Remove Laptop").click()
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Go on").click()
    await page.get_by_role("button", name="Remove").click()
    await expect(page.get_by_role("heading", name="Passkeys")).to_be_visible()
    await expect(page.locator(".own-list li")).to_have_count(0)
    await page.get_by_role("link", name="Back to the chat").click()
    await sign_out(page)
    await enter_password(page)
    await expect(page).to_have_url(re.compile("/t/acme/$"))


async def test_a_passkey_of_another_device_signs_nobody_in(page: Page) -> None:
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("alert")).to_contain_text("The passkey was not used")
    await page.goto(page.url.replace("/accounts/login/", "/t/acme/"))
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()

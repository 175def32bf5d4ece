"""A real Chromium on a live server; every page is watched for errors, and for requests that leave the site."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request, async_playwright, expect

from assistant.models import Assistant, Provider
from tests.base import PASSWORD, Cast
from tests.fake_provider import FakeProvider
from tests.line import Line
from tests.live import Server
from tests.ws import session_cookie

# The last of this option counts, so what Playwright switches off has to be named too. The popups of the address bar are
# two pages of their own in every window: without them a window costs a third of the time.
FEATURES_OFF = (
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup",
    "AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay", "MediaRouter",
    "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)  # fmt: skip
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(FEATURES_OFF)}",
]
PATIENCE_MS = 20_000
# Some tests lose the connection on purpose; the browser reports that in its console.
EXPECTED_WHEN_LOST = ("WebSocket connection to", "net::ERR_")

expect.set_options(timeout=PATIENCE_MS)


def chromium() -> str | None:
    """The browser to drive: `CHROMIUM` in the environment, else the machine's own, else Playwright's.

    The headless shell is the same engine without the browser's windows: a page takes two thirds of the time.
    """
    names = (os.environ.get("CHROMIUM", ""), "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


@dataclass
class Visitor:
    """One signed-in browser profile and what went wrong in it."""

    context: BrowserContext
    origin: str
    problems: list[str] = field(default_factory=list)
    allows_lost_connection: bool = False

    async def open(self, path: str = "/t/acme/") -> Page:
        page = await self.context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))
        page.on("request", self._on_request)
        await page.goto(self.origin + path)
        return page

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type != "error":
            return
        if self.allows_lost_connection and any(words in message.text for words in EXPECTED_WHEN_LOST):
            return
        self.problems.append(f"console: {message.text}")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.problems.append(f"left the site: {request.url}")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The browser of the whole test run, in which each test has its own profile."""
    async with async_playwright() as play:
        launched = await play.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield launched
        await launched.close()


@pytest.fixture
def site(uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider) -> Server:
    """A server whose assistants are answered by the fake provider."""
    Assistant.objects.filter(pk=cast.support.pk).update(
        name="Acme Support", description="Knows Acme's customers.", starters=["Tell me about customer 42"]
    )
    return uvicorn_server


@pytest_asyncio.fixture(loop_scope="session")
async def line(site: Server) -> AsyncIterator[Line]:
    """A proxy to the site, whose connections a test can cut."""
    made = Line(int(site.url.rpartition(":")[2]))
    await made.start()
    yield made
    await made.stop()


async def sign_in(page: Page, origin: str, username: str = "alice") -> None:
    await page.goto(f"{origin}/accounts/login/")
    await page.get_by_label("User name").fill(username)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("log")).to_be_attached()


async def make_visitor(browser: Browser, origin: str, **options: Any) -> Visitor:
    """Return Alice's browser with a session, because signing in takes as long as a test."""
    context = await browser.new_context(permissions=["clipboard-read", "clipboard-write"], **options)
    name, _, value = (await sync_to_async(_alices_cookie)()).partition("=")
    await context.add_cookies([{"name": name, "value": value, "url": origin}])
    return Visitor(context, origin)


def _alices_cookie() -> str:
    return session_cookie(User.objects.get(username="alice"))


@pytest_asyncio.fixture(loop_scope="session")
async def alice_browser(browser: Browser, site: Server) -> AsyncIterator[Visitor]:
    """Alice's browser; the test fails if any of its pages had an error or asked for something outside."""
    visitor = await make_visitor(browser, site.url)
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


@pytest_asyncio.fixture(loop_scope="session")
async def shaky_browser(browser: Browser, line: Line) -> AsyncIterator[Visitor]:
    """Alice's browser behind a proxy whose connections a test can cut."""
    visitor = await make_visitor(browser, line.origin)
    visitor.allows_lost_connection = True
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser, site: Server) -> AsyncIterator[Visitor]:
    """Alice's phone."""
    size = {"width": 390, "height": 844}
    visitor = await make_visitor(browser, site.url, viewport=size, is_mobile=True, has_touch=True)
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


@pytest_asyncio.fixture(loop_scope="session")
async def page(alice_browser: Visitor) -> Page:
    """The page of a new conversation with Acme Support."""
    return await alice_browser.open()

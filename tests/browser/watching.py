"""Records what a browser runs and requests while it shows hostile text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from playwright.async_api import Browser, BrowserContext, Dialog, Error, Page, Request, Route, async_playwright

from tests.browser.conftest import ARGUMENTS, chromium

# What a visitor's pointer and keyboard cause in passing.
PROVOKE = """root => {
  for (const element of [root, ...root.querySelectorAll("*")]) {
    for (const kind of ["mouseover", "mouseenter", "pointerenter", "focus"]) element.dispatchEvent(new Event(kind));
  }
}"""


# Hosts that Chromium itself requests on any page.
_ITS_OWN = (b"google.com", b"googleapis.com", b"gvt1.com")


class Listener:
    """Takes every connection that the browser opens to another host, even those that it tells nobody about.

    `connections` has the first bytes of each: a TLS greeting or an HTTP request, which name the host, or nothing.
    """

    def __init__(self) -> None:
        self.connections: list[bytes] = []
        self.port = 0

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(TimeoutError, ConnectionError):
            first = await asyncio.wait_for(reader.read(4096), 3)
            if not any(name in first for name in _ITS_OWN):
                self.connections.append(first)
        writer.close()


class Watch:
    """What ran in the pages of a browser profile (`ran(number)`), and what they asked of other hosts than `origins`."""

    def __init__(self, *origins: str) -> None:
        self.ran: set[int] = set()
        self.asked: list[str] = []
        self.referrers: list[str] = []
        self.dialogs: list[str] = []
        self._origins = (*origins, *(origin.replace("http", "ws", 1) for origin in origins), "data:", "blob:")

    async def over(self, context: BrowserContext, *, is_answered: bool = True) -> Watch:
        """Begin. Other hosts answer with an empty page, unless told otherwise.

        Answering switches off the browser's cache, and each style sheet comes again with every page.
        """
        await context.expose_binding("ran", lambda _source, number: self.ran.add(int(number)))
        if is_answered:
            await context.route(self._is_outside, self._answer)
        context.on("request", self._on_request)
        context.on("dialog", self._on_dialog)
        return self

    def _is_outside(self, url: str) -> bool:
        return not url.startswith((*self._origins, "about:", "chrome"))

    def _on_request(self, request: Request) -> None:
        if self._is_outside(request.url):
            self.asked.append(request.url)
            self.referrers.append(request.headers.get("referer", ""))

    async def _on_dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        with suppress(Error):  # its page may be closed already
            await dialog.dismiss()  # a page that waits for an answer may never close

    async def _answer(self, route: Route) -> None:
        with suppress(Error):
            await route.fulfill(status=200, content_type="text/html", body="<title>outside</title>")

    @property
    def findings(self) -> dict[str, Any]:
        """Return what was recorded, which should be empty."""
        return {"ran": sorted(self.ran), "asked": self.asked, "dialogs": self.dialogs}


NOTHING = {"ran": [], "asked": [], "dialogs": []}


@asynccontextmanager
async def watched_browser() -> AsyncIterator[tuple[Browser, Listener]]:
    """A browser that takes every name but the machine's own to the listener."""
    listener = Listener()
    server = await listener.start()
    rule = f"MAP * 127.0.0.1:{listener.port}, EXCLUDE 127.0.0.1, EXCLUDE localhost"
    async with async_playwright() as play:
        arguments = [*ARGUMENTS, f"--host-resolver-rules={rule}"]
        browser = await play.chromium.launch(executable_path=chromium(), args=arguments)
        yield browser, listener
        await browser.close()
    server.close()


async def provoke(page: Page, host: str = "") -> None:
    """Open whatever is folded, and pass over everything with the pointer; of an element `host`, in its shadow."""
    root = f"document.querySelector('{host}').shadowRoot" if host else "document"
    await page.evaluate(f"for (const one of {root}.querySelectorAll('details')) one.open = true")
    await page.evaluate(f"({PROVOKE})({root})")

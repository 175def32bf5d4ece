"""Looks at a host in Chromium: the chat, an upload, the widget and the host's admin, light and dark, with pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from tests.browser.conftest import ARGUMENTS, chromium

# Milliseconds: with a debug toolbar on a busy machine a page is slow.
PATIENCE = 300_000
QUESTION = "Which invoices are there?"
# The pages of the host's admin that are looked at, below its own address.
ADMIN = (
    "", "assistant/tenant/", "assistant/assistant/", "assistant/toolsetting/switchboard/",
    "assistant/promptversion/add/", "assistant/toolsetting/", "assistant/assistant/1/change/",
    "assistant/tenant/1/change/",
)  # fmt: skip
# Puts the widget into a document of the host's own origin. By script: Chromium 156 gives an element that was written
# into a document that is no HTML page, such as a script's, no life once its module has come.
WIDGET = """async (mount) => {
  await import("/static/assistant/widget.js");
  const widget = document.createElement("tenant-assistant");
  widget.setAttribute("assistant", "helper");
  widget.setAttribute("token-url", `${mount}t/acme/widget-token/`);
  document.body.replaceChildren(widget);
}"""


@contextmanager
def _page(browser: Browser, url: str, cookie: str, broken: list[str], scheme: str = "light") -> Iterator[Page]:
    context = browser.new_context(color_scheme="dark" if scheme == "dark" else "light", locale="en")
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
    page = context.new_page()
    page.on("pageerror", lambda error: broken.append(f"browser {page.url}: {error}"))
    page.on("console", lambda line: broken.append(f"browser {page.url}: {line.text}") if line.type == "error" else None)
    try:
        yield page
    finally:
        context.close()


def look(url: str, report: Mapping[str, Any], pictures: Path) -> list[str]:
    """Return what went wrong in the browser."""
    broken: list[str] = []
    pictures.mkdir(parents=True, exist_ok=True)
    places = report["places"]
    cookies = report["cookies"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        for part in (_chat, _widget):
            with _page(browser, url, cookies["member"], broken) as page:
                try:
                    part(page, url, places["mount"])
                except (Error, AssertionError) as exc:
                    broken.append(f"browser {part.__name__}: {str(exc)[:600]}")
                page.screenshot(path=pictures / f"{part.__name__.strip('_')}.png")
        for scheme in ("light", "dark"):
            with _page(browser, url, cookies["operator"], broken, scheme) as page:
                for number, path in enumerate(ADMIN if places["admin"] else ()):
                    page.goto(f"{url}{places['admin']}{path}")
                    page.screenshot(path=pictures / f"admin-{number}-{scheme}.png", full_page=True)
        browser.close()
    return broken


def _chat(page: Page, url: str, mount: str) -> None:
    page.goto(f"{url}{mount}t/acme/")
    page.locator("input[type=file]").first.set_input_files(
        {"name": "note.txt", "mimeType": "text/plain", "buffer": b"Half past nine"}
    )
    expect(page.locator("body")).to_contain_text("is ready to be sent", timeout=PATIENCE)
    _ask(page, QUESTION)
    # A file may say what a tool should do, so a person decides.
    page.get_by_role("button", name="Approve").click(timeout=PATIENCE)
    expect(page.locator("body")).to_contain_text("10.50", timeout=PATIENCE)


def _widget(page: Page, url: str, mount: str) -> None:
    # In place of what an address shows, for a page that no server has sent may open no websocket to this machine. Not
    # of the front page: what the project loads there is its own matter.
    page.goto(f"{url}/static/assistant/widget.js")
    page.evaluate(WIDGET, mount)
    page.get_by_role("button", name="Open the assistant").click(timeout=PATIENCE)
    _ask(page, QUESTION)
    expect(page.locator("tenant-assistant")).to_contain_text("10.50", timeout=PATIENCE)


def _ask(page: Page, text: str) -> None:
    place = page.locator("textarea").first
    place.fill(text)
    place.press("Enter")

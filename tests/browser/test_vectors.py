"""A corpus of known vectors at every place that shows what others wrote: nothing runs, no other host is asked.

The pages are visited with their content security policy switched off, so that what is written must be harmless in
itself; that the policy alone would hold too is tested beside it.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from playwright.async_api import Browser, BrowserContext, Error, Page, expect

from assistant.models import Conversation, Provider
from tests.base import Cast
from tests.browser.acts import answered, ask
from tests.browser.control import without_sanitiser
from tests.browser.watching import NOTHING, Listener, Watch, provoke, watched_browser
from tests.fake_provider import FakeProvider
from tests.isolation.doors import paths
from tests.live import Server, serve
from tests.vectors import CORPUS, FAMILIES
from tests.vectors.seeding import PER_THREAD, seed_every_model, seed_names, seed_threads
from tests.vectors.streaming import stream_all
from tests.ws import session_cookie

pytestmark = [
    pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600),
]  # fmt: skip

# Where links may lead; an address that no browser can read (its protocol is ":") leads nowhere.
HARMLESS = {"http:", "https:", "mailto:", ":"}
ALLOWED_TAGS = (
    "A BLOCKQUOTE BR BUTTON CODE DEL DIV EM H3 H4 H5 H6 HR LI OL P PATH PRE S SPAN STRONG SUP SVG TABLE TBODY TD TH "
    "THEAD TR UL"
)
SHOWN = """() => {
  const all = [...document.querySelectorAll(".answer .closed *")];
  // The columns of a table keep the widths that they had while it was written.
  const widths = new Set(["width", "table-layout"]);
  const isStyled = (one) => [...one.style].some((name) => !one.matches("table, th, td") || !widths.has(name));
  // Formulas have sizes and colours of their own.
  const isFormula = (one) => one.namespaceURI.endsWith("MathML");
  const isOdd = (one) => one.id || one.name || (isFormula(one) ? one.hasAttribute("href") : isStyled(one));
  const hears = (one) => [...one.attributes].some(({ name }) => name.startsWith("on"));
  return {
    tags: [...new Set(all.filter((one) => !isFormula(one)).map((one) => one.tagName.toUpperCase()))],
    odd: all.filter((one) => isOdd(one) || hears(one)).length,
  };
}"""
LINKS = """() => {
  const links = [...document.querySelectorAll(".answer .closed a")];
  return links.map((link) => [link.protocol, link.rel, link.target]);
}"""
ALL_CLOSED = """count => {
  const open = [...document.querySelectorAll(".answer .open")];
  return open.length >= count && open.every((one) => !one.textContent.trim());
}"""
CLOSING_SECONDS = 20.0


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def chromium() -> AsyncIterator[tuple[Browser, Listener]]:
    async with watched_browser() as pair:
        yield pair


async def profile(
    browser: Browser, origin: str, user: User, *, policy: bool = False, is_answered: bool = True, **options: object
) -> tuple[BrowserContext, Watch]:
    """A browser profile in which `user` is signed in; `policy`: whether the content security policy holds.

    `is_answered`: whether other hosts answer what the pages ask of them (`Watch.over`).
    """
    context = await browser.new_context(bypass_csp=not policy, **options)  # type: ignore[arg-type]
    name, _, value = (await sync_to_async(session_cookie)(user)).partition("=")
    await context.add_cookies([{"name": name, "value": value, "url": origin}])
    return context, await Watch(origin).over(context, is_answered=is_answered)


async def shown(page: Page, count: int) -> None:
    """Wait until `count` answers stand there as rendered blocks, then pass over everything."""
    await page.wait_for_function(ALL_CLOSED, arg=count)
    await provoke(page)


async def test_the_control_page_shows_what_the_vectors_can_do(chromium: tuple[Browser, Listener]) -> None:
    ran, asked = await without_sanitiser(chromium[0])
    print(f"\nvectors: {len(CORPUS)}; on the control page {len(ran)} ran, {len(asked)} asked other hosts")
    assert len(CORPUS) >= 150 and len(ran & {vector.number for vector in CORPUS}) >= 100 and len(asked) >= 50
    alive = {vector.family for vector in CORPUS if vector.number in ran | asked}
    assert set(FAMILIES) - alive == set()


async def see_threads(page: Page, origin: str, threads: list[Conversation]) -> Counter[tuple[str, ...]]:
    """Look at stored threads; what kinds of links there are: protocol, rel, target."""
    links: Counter[tuple[str, ...]] = Counter()
    for number, thread in enumerate(threads):
        await page.goto(f"{origin}/t/acme/c/{thread.pk}/")
        await shown(page, min(PER_THREAD, len(CORPUS) - number * PER_THREAD) // 2)
        links.update(map(tuple, await page.evaluate(LINKS)))
    return links


async def test_stored_answers_thoughts_tools_and_files(
    chromium: tuple[Browser, Listener], uvicorn_server: Server, cast: Cast
) -> None:
    browser, listener = chromium
    listener.connections.clear()
    threads = await sync_to_async(seed_threads)(cast)
    context, watch = await profile(browser, uvicorn_server.url, cast.alice)
    page = await context.new_page()
    links = await see_threads(page, uvicorn_server.url, threads)
    assert (watch.findings, listener.connections) == (NOTHING, [])
    assert {protocol for protocol, _, _ in links} <= HARMLESS and sum(links.values()) > 40
    assert {kind[1:] for kind in links} == {("noopener noreferrer nofollow", "_blank")}
    await context.close()


async def ask_and_look(page: Page, text: str) -> None:
    await ask(page, text)
    await answered(page)


async def test_streamed_answers_and_the_same_after_a_reload(
    chromium: tuple[Browser, Listener],
    uvicorn_server: Server,
    cast: Cast,
    provider: Provider,
    fake_provider: FakeProvider,
) -> None:
    browser, listener = chromium
    listener.connections.clear()
    context, watch = await profile(browser, uvicorn_server.url, cast.alice)
    page = await context.new_page()
    await page.goto(f"{uvicorn_server.url}/t/acme/")
    count = await stream_all(page, fake_provider, ask_and_look)
    await shown(page, count)
    assert watch.findings == NOTHING
    await page.reload()
    await shown(page, count)
    found = await page.evaluate(SHOWN)
    assert set(found["tags"]) <= set(ALLOWED_TAGS.split()) and found["odd"] == 0, found
    assert (watch.findings, listener.connections) == (NOTHING, [])
    await follow_links(context, page, watch)
    await context.close()


async def follow_links(context: BrowserContext, page: Page, watch: Watch) -> None:
    """Click the links that are left: each opens a page that knows nothing of the one it came from."""
    hrefs = await page.evaluate("[...new Set([...document.querySelectorAll('.answer a')].map((one) => one.href))]")
    assert len(hrefs) > 40
    for href in hrefs[:: max(1, len(hrefs) // 15)]:
        # A page that comes into sight again and has lost its connection draws its messages anew.
        await page.wait_for_function("href => [...document.links].some((one) => one.href === href)", arg=href)
        async with context.expect_page() as opening:
            await page.evaluate("href => [...document.links].find((one) => one.href === href).click()", href)
        opened = await opening.value
        await opened.wait_for_load_state()
        assert await opened.evaluate("[window.opener, document.referrer]") == [None, ""]
        await opened.close()
    assert watch.ran == set()
    assert all(url.startswith(("http://", "https://")) for url in watch.asked)
    assert not any(referrer for referrer in watch.referrers)


async def test_titles_and_names(chromium: tuple[Browser, Listener], uvicorn_server: Server, cast: Cast) -> None:
    await sync_to_async(seed_names)(cast)
    context, watch = await profile(chromium[0], uvicorn_server.url, cast.alice)
    page = await context.new_page()
    for path in ("/", "/t/acme/", "/t/acme/?q=%3Cimg%20src=x%20onerror=ran(1)%3E"):
        await page.goto(uvicorn_server.url + path)
        await provoke(page)
    await page.get_by_role("searchbox").fill("<img src=x onerror=ran(1)>")
    await expect(page.locator("#conversations")).to_be_visible()
    await page.locator(".conversation [data-action=rename]").first.dispatch_event("click")
    await page.locator(".conversation [data-action=delete]").last.dispatch_event("click")
    await provoke(page)
    assert watch.findings == NOTHING
    await context.close()


async def see_admin(page: Page, origin: str, addresses: list[str]) -> int:
    """Look at every address that shows a page; how many do."""
    seen = 0
    for path in addresses:
        with suppress(Error):  # an address that only takes posts, or that gives a file
            answer = await page.goto(origin + path)
            await provoke(page)
            seen += answer is not None and answer.status == 200
    return seen


def admin_addresses(cast: Cast) -> list[str]:
    """Every page of the admin, read from its URLs, with rows of every model that are hostile in each text."""
    rows = seed_every_model(cast)
    threads = seed_threads(cast)
    seed_names(cast)
    elsewhere = ("/logout/", "/jsi18n/", "/autocomplete/", "/admin/r/", "/delete/", "/password_change/", "/files/")
    found = [path for path in paths(rows) if path.startswith("/admin/") and not any(map(path.__contains__, elsewhere))]
    own = [f"/admin/assistant/conversation/{thread.pk}/change/" for thread in threads]
    lists = [f"/admin/assistant/{name}/?p={number}" for name in ("message", "toolcall") for number in (2, 3)]
    return [path for path in dict.fromkeys([*found, *own[:2], *lists]) if not leads_elsewhere(path)]


def leads_elsewhere(path: str) -> bool:
    """Whether an address only redirects to the row's form, or to the front page where there is no such row.

    Those of one model are looked at for all.
    """
    return re.fullmatch(r"/admin/\w+/(?!conversation/)\w+/(\d+|[0-9a-f-]{36})/", path) is not None


async def test_every_page_of_the_admin(chromium: tuple[Browser, Listener], uvicorn_server: Server, cast: Cast) -> None:
    addresses = await sync_to_async(admin_addresses)(cast)
    context, watch = await profile(chromium[0], uvicorn_server.url, cast.root, is_answered=False)
    page = await context.new_page()
    seen = await see_admin(page, uvicorn_server.url, addresses)
    print(f"\nvectors: {seen} pages of the admin")
    assert watch.findings == NOTHING and seen > 60
    # After hundreds of pages Chromium has been seen to close a profile never; it ends with the module's browser.
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSING_SECONDS):
            await context.close()


@pytest.mark.parametrize("policy", [False, True])
async def test_a_site_that_trusts_is_caught_and_the_policy_alone_holds(
    policy: bool, chromium: tuple[Browser, Listener], transactional_db: None, cast: Cast
) -> None:
    """The fault that these tests are to catch: without sanitising and escaping dozens run, unless the policy holds."""
    threads = await sync_to_async(seed_threads)(cast)
    with serve(application="tests.vectors.trusting_asgi:application") as server:
        context, watch = await profile(chromium[0], server.url, cast.alice, policy=policy)
        page = await context.new_page()
        for thread in threads[:4]:
            await page.goto(f"{server.url}/t/acme/c/{thread.pk}/")
            await page.wait_for_timeout(1500)
            with suppress(Error):
                await provoke(page)
        await context.close()
        admin, seen = await profile(chromium[0], server.url, cast.root, policy=policy)
        page = await admin.new_page()
        with suppress(Error):
            await page.goto(f"{server.url}/admin/assistant/conversation/{threads[0].pk}/change/")
            await page.wait_for_timeout(500)
        await admin.close()
    told = f"{len(watch.ran)} ran in the chat, {len(seen.ran)} in the admin"
    print(f"\nvectors: without sanitising, policy {policy}: {told}")
    assert (len(watch.ran) > 24, len(seen.ran) > 0) == ((False, False) if policy else (True, True))
    if policy:
        assert watch.ran == seen.ran == set()

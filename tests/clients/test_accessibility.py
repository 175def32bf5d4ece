"""axe-core finds nothing on the chat's pages and in the widget, in both themes; nothing is lost in a narrow window.

The environment variable `BROWSER_LANGUAGES` names the languages of the browser, such as "en de ar". Elements are found
by ids and classes, which are the same in all of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, BrowserContext, Page, expect

from assistant.contrib.mcp_servers.models import McpServer
from assistant.contrib.saved_prompts.models import SavedPrompt
from assistant.contrib.shares.links import share_conversation
from assistant.models import Assistant, Conversation, Membership, Provider, Tenant
from assistant.services.tenancy.members import find_member
from tests.base import Cast
from tests.browser.conftest import browser, line  # noqa: F401 - fixtures
from tests.browser.test_widget import Shop, host, shop  # noqa: F401 - fixtures
from tests.contrib.shares.sharing import set_sharing
from tests.contrib.titles.test_follow_ups import BOTH, NEXT, ON, is_aside
from tests.factories import switch_tool
from tests.fake_answers import reply
from tests.fake_provider import Answer, FakeProvider, Recorded
from tests.live import Server, serve
from tests.ws import session_cookie

# ruff: noqa: F811 - the fixtures of other modules
pytestmark = [
    pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600),
]  # fmt: skip
AXE = Path(__file__).parent / "node_modules/axe-core/axe.min.js"
RUN = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  const places = (nodes) => nodes.slice(0, 3).map(({ target }) => target.flat().join(" ")).join(" | ");
  return violations.map(({ id, nodes }) => `${id}: ${places(nodes)}`);
}"""
# Elements that are wider than the window, apart from those that scroll by themselves.
TOO_WIDE = """() => {
  const scrolls = (one) => one && (/auto|scroll/.test(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
  const isShown = (one) => one.checkVisibility() && !one.closest("[inert], .sr-only, svg");
  const isWide = (one) => one.getBoundingClientRect().right > innerWidth + 1 && !scrolls(one.parentElement);
  const wide = [...document.querySelectorAll("body *")].filter((one) => isShown(one) && isWide(one));
  return wide.map((one) => `${one.tagName}.${one.className}`).slice(0, 5);
}"""
ANSWER = """# Returns

You can **return** it, see [the policy](https://example.com/):

1. Call
2. Bring `it`

> Quoted

| Animal | Days |
|---|---|
| Sheep | 14 |

```python
print('hello')  # a comment
```

$x^2$
"""
HISTORY_TOKENS = 24_000
ASKED = ("text", "number", "date", "choice", "several", "yes_no")
THEMES = ("light", "dark")
LANGUAGES = os.environ.get("BROWSER_LANGUAGES", "en").split()


def answering(request: Recorded) -> Answer:
    if is_aside(request):
        return reply(json.dumps({"title": "Returns of sheep", "questions": NEXT}))(request)
    if request.messages[-1]["content"] == "Change it":
        return reply(calls=[("update_customer", {"customer_id": "42", "email": "a@example.com"})])(request)
    if request.messages[-1]["content"] == "Tell me all":
        return reply("The light. " * (HISTORY_TOKENS // 4))(request)
    if request.messages[-1]["content"] == "Ask me":
        fields = [{"name": kind, "label": kind, "kind": kind, "options": ["One", "Two"]} for kind in ASKED]
        return reply(calls=[("ask_user", {"question": "Which?", "fields": fields})])(request)
    if request.messages[-1]["role"] == "user":
        return reply(calls=[("find_orders", {}), ("get_customer", {"customer_id": "no"})])(request)
    return reply(ANSWER)(request)


def _prepare(cast: Cast) -> None:
    Assistant.objects.filter(pk=cast.support.pk).update(
        name="Acme Support", description="Knows sheep.", starters=["Where is my order?", "Return a sheep"],
        other_models=["large"], extensions=BOTH, history_tokens=HISTORY_TOKENS,
    )  # fmt: skip
    Tenant.objects.filter(pk=cast.acme.pk).update(shows_usage=True)
    set_sharing(cast.acme)
    for tool, policy in (("find_orders", "on"), ("get_customer", "on"), ("update_customer", "ask"), ("ask_user", "on")):
        switch_tool(cast.acme, tool, policy=policy)
    McpServer.objects.create(
        tenant=cast.acme, name="Shop", prefix="shop", url="https://shop.example/mcp", credentials_of="user"
    )
    SavedPrompt.objects.create(tenant=cast.acme, name="Reply", description="To a complaint", text="Dear {{ customer }}")
    Membership.objects.create(tenant=cast.globex, user=cast.alice)


@pytest.fixture
def site(transactional_db: None, cast: Cast, provider: Provider, fake_provider: FakeProvider) -> Iterator[Server]:
    fake_provider.rule(answering)
    _prepare(cast)
    with serve(env=ON) as started:
        yield started


def _shared_address(cast: Cast) -> str:
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    share = share_conversation(member=member, conversation_id=Conversation.objects.latest("created_at").pk)
    assert share is not None
    return f"/t/acme/s/{share.pk}/"


async def visitor(browser: Browser, site: Server, cast: Cast, **options: Any) -> BrowserContext:
    context = await browser.new_context(**options)
    name, _, value = (await sync_to_async(session_cookie)(cast.alice)).partition("=")
    await context.add_cookies([{"name": name, "value": value, "url": site.url}])
    return context


async def findings(page: Page) -> list[str]:
    # Colours that fade in would be measured on their way.
    await page.evaluate("() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => null)))")
    await page.evaluate(AXE.read_text())
    found: list[str] = await page.evaluate(RUN)
    return found


async def ask(page: Page, text: str) -> None:
    await page.locator("#message").fill(text)
    await page.locator("#send").click()


async def talk(page: Page, origin: str) -> None:
    """Have a conversation with tools, an answer with all kinds of Markdown, and questions that could follow."""
    await page.goto(f"{origin}/t/acme/")
    await ask(page, "How do I return a sheep?")
    await expect(page.locator(".follow-ups")).to_be_visible()
    await expect(page.locator("#stop")).to_be_hidden()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("theme", THEMES)
async def test_axe_finds_nothing_in_the_chat(
    theme: Any, language: str, browser: Browser, site: Server, cast: Cast
) -> None:
    context = await visitor(browser, site, cast, color_scheme=theme, locale=language)
    page = await context.new_page()
    found: dict[str, list[str]] = {}
    await page.goto(f"{site.url}/t/acme/")
    await expect(page.locator("#welcome")).to_be_visible()
    found["new"] = await findings(page)
    await talk(page, site.url)
    found["answer"] = await findings(page)
    await page.locator(".activity > summary").click()
    await page.locator(".activity .tool > summary").first.click()
    await page.locator(".models > summary").click()
    found["open"] = await findings(page)
    await page.keyboard.press("Escape")
    await page.locator(".footer [aria-pressed]").last.click()
    found["comment"] = await findings(page)
    await page.keyboard.press("Escape")
    await page.locator("#conversation-menu > summary").click()
    found["menu"] = await findings(page)
    await page.locator("[data-menu=share]").click()
    await page.locator("#share-make").click()
    await expect(page.locator("#share-links a")).to_be_visible()
    found["share"] = await findings(page)
    await page.keyboard.press("Escape")
    await ask(page, "Change it")
    await expect(page.locator(".approval .facts")).to_be_visible()
    found["approval"] = await findings(page)
    await page.locator(".approval button[type=submit]").click()
    await expect(page.locator("#stop")).to_be_hidden()
    await ask(page, "Ask me")
    await page.locator(".approval button[type=submit]").click()
    await expect(page.locator(".approval [aria-invalid=true]").first).to_be_visible()
    found["question"] = await findings(page)
    for name, path in (
        ("shared", await sync_to_async(_shared_address)(cast)),
        ("connections", "/t/acme/connections/"),
        ("archive", "/t/acme/?assistant=support"),
        ("account", "/accounts/settings/"),
        ("inbox", "/t/acme/inbox/"),
        ("prompts", "/t/acme/prompts/"),
        ("schedules", "/t/acme/schedules/"),
        ("own data", "/t/acme/own-data/"),
        ("password", "/accounts/settings/password/"),
    ):
        await page.goto(site.url + path)
        found[name] = await findings(page)
    await page.goto(f"{site.url}/t/acme/")
    await ask(page, "Tell me all")
    await page.locator(".context-ring").click()
    found["gauge"] = await findings(page)
    await page.goto(f"{site.url}/t/acme/")
    await page.locator("#message").press_sequentially("/")
    await expect(page.locator("[role=option]").first).to_be_visible()
    found["prompts offered"] = await findings(page)
    await page.locator("#message").press("Enter")
    await expect(page.locator(".prompt-form")).to_be_visible()
    found["prompt"] = await findings(page)
    await page.keyboard.press("Escape")
    await page.locator(".theme-menu > summary").focus()
    await page.keyboard.press("?")
    await expect(page.locator("#shortcuts")).to_be_visible()
    found["shortcuts"] = await findings(page)
    await context.clear_cookies()
    for path in ("/", "/accounts/login/", "/accounts/password/", "/nowhere/"):
        await page.goto(site.url + path)
        found[path] = await findings(page)
    await context.close()
    assert {name: one for name, one in found.items() if one} == {}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("theme", THEMES)
async def test_axe_finds_nothing_in_the_widget(theme: Any, language: str, shop: Shop) -> None:
    page = await shop.visit(color_scheme=theme, locale=language)
    await page.locator(".launcher").click()
    found = {"new": await findings(page)}
    await page.locator(".panel textarea").fill("How do I return a sheep?")
    await page.keyboard.press("Enter")
    await expect(page.locator(".follow-ups")).to_be_visible()
    found["answer"] = await findings(page)
    await page.locator(".panel textarea").last.fill("Ask me")
    await page.keyboard.press("Enter")
    await page.locator(".approval button[type=submit]").click()
    await expect(page.locator(".approval [aria-invalid=true]").first).to_be_visible()
    found["question"] = await findings(page)
    assert {name: _of_widget(one) for name, one in found.items() if _of_widget(one)} == {}


def _of_widget(found: list[str]) -> list[str]:
    """Leave out what is said of the host's page."""
    return [one for one in found if "tenant-assistant" in one]


# A window of 1280 pixels at 200 % has 640; WCAG's reflow asks for 320.
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [640, 320])
async def test_nothing_is_lost_in_a_narrow_window(
    width: int, language: str, browser: Browser, site: Server, cast: Cast
) -> None:
    context = await visitor(browser, site, cast, viewport={"width": width, "height": 600}, locale=language)
    page = await context.new_page()
    await talk(page, site.url)
    wide = {"answer": await page.evaluate(TOO_WIDE)}
    await expect(page.locator("#message")).to_be_in_viewport()
    await expect(page.locator("#send")).to_be_in_viewport()
    await page.locator("#conversation-menu > summary").click()
    await page.locator("[data-menu=share]").click()
    await page.locator("#share-make").click()
    await expect(page.locator("#share-links button").last).to_be_in_viewport()
    wide["share"] = await page.evaluate(TOO_WIDE)
    await page.keyboard.press("Escape")
    await ask(page, "Ask me")
    await expect(page.locator(".approval button[type=submit]")).to_be_visible()
    wide["question"] = await page.evaluate(TOO_WIDE)
    for name, path in (
        ("shared", await sync_to_async(_shared_address)(cast)),
        ("connections", "/t/acme/connections/"),
        ("account", "/accounts/settings/"),
        ("inbox", "/t/acme/inbox/"),
        ("prompts", "/t/acme/prompts/"),
        ("schedules", "/t/acme/schedules/"),
        ("own data", "/t/acme/own-data/"),
        ("login", "/accounts/login/"),
    ):
        await page.goto(site.url + path)
        wide[name] = await page.evaluate(TOO_WIDE)
    await context.close()
    assert {name: one for name, one in wide.items() if one} == {}

"""The chat inside a host project's base template: neither style sheet changes what the other is for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from assistant.models import Assistant, Provider
from tests.base import PASSWORD, Cast
from tests.browser.acts import answered, ask, fits, last_answer
from tests.browser.conftest import Visitor, make_visitor
from tests.fake_provider import FakeProvider
from tests.live import Server, serve

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

STYLES = ("bootstrap", "bulma", "pico")
ANSWER = """## Two customers

| Name | Open |
|---|---|
| **Dora** | 1 |

1. first
2. second, with `code` and [a link](https://example.com/)

> a quotation

```python
print("open")
```
"""
# What is seen of each element within, in order: the same in a host's page as in one of our own.
LOOKS = """() => {
  const seen = [
    "display", "position", "boxSizing", "float", "cursor", "opacity", "boxShadow", "fill", "verticalAlign",
    "marginTop", "marginBottom", "paddingLeft", "paddingTop", "borderTopWidth", "borderTopStyle", "borderRadius",
    "color", "backgroundColor", "fontSize", "fontWeight", "fontStyle", "lineHeight", "letterSpacing", "whiteSpace",
    "textAlign", "textTransform", "textDecorationLine", "listStyleType",
  ];
  const of = (style) => Object.fromEntries(seen.map((name) => [name, style[name]]));
  const isShown = (one) => one.checkVisibility({contentVisibilityAuto: true});
  const shown = [document.querySelector(".chat"), ...document.querySelectorAll(".chat *")].filter(isShown);
  return shown.map((one) => [`${one.tagName}.${one.getAttribute("class")}`, of(getComputedStyle(one))]);
}"""
OF_HOST = """() => [document.documentElement, ...document.querySelectorAll("body, body *:not(script)")].map((one) => {
  const style = getComputedStyle(one);
  return [one.tagName, Object.fromEntries([...style].map((name) => [name, style.getPropertyValue(name)]))];
})"""
ADD_SHEETS = """(names) => Promise.all(names.map((name) => new Promise((done) => {
  const link = Object.assign(document.createElement("link"), {rel: "stylesheet", onload: done});
  link.href = `/static/assistant/css/${name}.css`;
  document.head.append(link);
})))"""

# What enters is compared when it is there.
ENTERED = "Promise.all(document.getAnimations().map((one) => one.finished))"


@pytest.fixture
def host(transactional_db: None, cast: Cast, provider: Provider, fake_provider: FakeProvider) -> Iterator[Server]:
    Assistant.objects.filter(pk=cast.support.pk).update(name="Acme Support")
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.host_project.looks.settings"}) as server:
        yield server


async def visitor(browser: Browser, host: Server, style: str, scheme: str = "light", **options: Any) -> Visitor:
    made = await make_visitor(browser, host.url, **options)
    cookies = {"style": style, "scheme": scheme}
    await made.context.add_cookies([{"name": name, "value": value, "url": host.url} for name, value in cookies.items()])
    return made


async def conversation(made: Visitor, fake_provider: FakeProvider, path: str = "/t/acme/") -> Page:
    page = await made.open(path)
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply(ANSWER)
    await ask(page, "Who are they?")
    await answered(page)
    await expect(last_answer(page)).to_contain_text("open")
    # What is below the answer comes after its end.
    await expect(page.locator(".about time").last).to_be_visible()
    await page.mouse.move(0, 0)
    return page


def differences(ours: Any, theirs: Any) -> list[str]:
    found = []
    for (name, own), (other, hosted) in zip(ours, theirs, strict=True):
        assert name == other
        # The wash of the accent is mixed there, because the host may choose the accent.
        changed = [key for key in own if own[key] != hosted[key] and not hosted[key].startswith("oklab(")]
        found += [f"{name} {key}: {own[key]} became {hosted[key]}" for key in changed]
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_hosts_styles_change_nothing_in_the_chat(
    scheme: str, browser: Browser, site: Server, host: Server, fake_provider: FakeProvider
) -> None:
    looks = {}
    # High enough for the whole answer also below a host's navigation: otherwise the way to its end is shown.
    size = {"width": 1280, "height": 1600}
    for style in ("", *STYLES):
        made = await visitor(browser, host if style else site, style, scheme, color_scheme=scheme, viewport=size)
        page = await conversation(made, fake_provider)
        # Where the host's root has a larger font, as Pico's has, the chat is larger too.
        await page.evaluate("document.documentElement.style.fontSize = '16px'")
        await page.evaluate(ENTERED)
        looks[style] = await page.evaluate(LOOKS)
        assert await fits(page)
        assert made.problems == []
        await made.context.close()
    found = [f"{style}: {one}" for style in STYLES for one in differences(looks[""], looks[style])]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("style", STYLES)
async def test_our_styles_change_nothing_in_the_hosts_pages(style: str, browser: Browser, host: Server) -> None:
    made = await visitor(browser, host, style)
    page = await made.open("/orders/")
    # What lies below the mouse looks another way, which the browser may notice only later.
    await page.mouse.move(0, 800)
    await page.evaluate(ENTERED)
    before = await page.evaluate(OF_HOST)
    await page.evaluate(ADD_SHEETS, ["base", "chat", "answer"])
    assert differences(before, await page.evaluate(OF_HOST)) == []
    await made.context.close()


@pytest.mark.parametrize("style", STYLES)
async def test_a_phone_shows_it_below_the_hosts_navigation(
    style: str, browser: Browser, host: Server, fake_provider: FakeProvider
) -> None:
    size = {"width": 390, "height": 844}
    made = await visitor(browser, host, style, "dark", viewport=size, is_mobile=True, has_touch=True)
    page = await conversation(made, fake_provider)
    assert await fits(page)
    await expect(page.get_by_label("Message to")).to_be_in_viewport()
    await page.get_by_label("Open the list of conversations").click()
    await expect(page.get_by_placeholder("Search conversations")).to_be_in_viewport(ratio=1)
    top = await page.evaluate("document.querySelector('.in-host #sidebar').getBoundingClientRect().top")
    assert top == await page.evaluate("document.querySelector('.in-host').getBoundingClientRect().top") > 0
    await page.get_by_label("Close the list of conversations").click()
    assert made.problems == []
    await made.context.close()


async def test_conversations_are_switched_and_searched_beside_elements_with_the_same_ids(
    browser: Browser, host: Server, fake_provider: FakeProvider
) -> None:
    made = await visitor(browser, host, "bootstrap")
    page = await conversation(made, fake_provider)
    await page.get_by_role("link", name="New conversation").first.click()
    await expect(page.get_by_role("heading", name="How can Acme Support help?")).to_be_visible()
    assert await page.title() == "Acme · Tenant Assistant · Initech"
    await page.get_by_placeholder("Search conversations").fill("they")
    await page.keyboard.press("Enter")
    await expect(last_answer(page)).to_contain_text("Two customers")
    await page.get_by_role("link", name="Orders").click()
    await expect(page.get_by_role("heading", name="Orders")).to_be_visible()
    assert made.problems == []
    await made.context.close()


async def test_whoever_is_signed_out_is_led_to_the_hosts_sign_in_page(browser: Browser, host: Server) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{host.url}/t/acme/")
    await page.get_by_label("Username").fill("alice")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Enter").click()
    await expect(page.locator(".in-host").get_by_label("Message to")).to_be_visible()
    assert await page.get_by_role("button", name="Sign out").count() == 0  # the host's navigation has its own
    await context.close()

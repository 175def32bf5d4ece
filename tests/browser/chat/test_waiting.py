"""How the chat page shows a call whose result comes from outside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Page, expect

from assistant.models import Provider
from tests.base import Cast
from tests.browser.acts import ask, last_answer
from tests.browser.conftest import make_visitor
from tests.contrib.later_results.test_waiting_servers import SETTINGS, post, token_that_waits
from tests.fake_provider import FakeProvider
from tests.live import Server, serve

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def waiting_site(transactional_db: None, cast: Cast, provider: Provider) -> Iterator[Server]:
    with serve(env=SETTINGS) as server:
        yield server


async def test_it_says_what_it_waits_for_and_goes_on_by_itself(
    waiting_site: Server, browser: Browser, fake_provider: FakeProvider
) -> None:
    fake_provider.call("ask_outside", {})
    visitor = await make_visitor(browser, waiting_site.url)
    page: Page = await visitor.open()
    await ask(page, "Ask outside")
    state, note = page.locator(".tool > summary .tool-state"), page.locator(".tool .approval")
    for _ in range(2):
        await expect(state).to_have_text("Waits for its result")
        await expect(note).to_contain_text("“Ask outside” waits for somebody outside.")
        await expect(note).to_contain_text("goes on without it")
        await page.reload()
    fake_provider.reply("They say yes.")
    await post(waiting_site, await token_that_waits(), {"result": "yes"})
    await expect(last_answer(page)).to_have_text("They say yes.")
    await expect(state).to_have_text("Done")
    await expect(note).to_have_count(0)
    assert not visitor.problems


async def test_a_person_stops_waiting(waiting_site: Server, browser: Browser, fake_provider: FakeProvider) -> None:
    fake_provider.call("ask_outside", {})
    page: Page = await (await make_visitor(browser, waiting_site.url)).open()
    await ask(page, "Ask outside")
    await page.get_by_role("button", name="Stop waiting").click()
    await expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()
    await expect(page.locator(".tool .approval")).to_have_count(0)
    await ask(page, "And now?")
    await expect(page.locator(".tool > summary .tool-state")).to_have_text("Stopped")

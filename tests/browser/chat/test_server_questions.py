"""A question of an external MCP server in the chat: a form that says who asks, its answer, and one after a reload."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from pytest_django import Settings

from assistant.models import Provider
from tests.base import Cast
from tests.browser.acts import ask, fits, last_answer
from tests.browser.conftest import make_visitor
from tests.contrib.mcp_servers.questions.acts import add
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.mcp.outside import Outside, outside
from tests.mcp.questions.acts import SENT, answers_in

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def site(
    transactional_db: None, cast: Cast, provider: Provider, fake_provider: FakeProvider, settings: Settings
) -> Iterator[Server]:
    settings.DEBUG = True  # the external server is on the machine itself
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_debug"}) as server:
        yield server


@pytest.fixture
def asking() -> Iterator[Outside]:
    with outside(app="tests.mcp.questions.asking_app:app") as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, site: Server) -> AsyncIterator[Page]:
    visitor = await make_visitor(browser, site.url)
    yield await visitor.open()
    await visitor.context.close()
    assert visitor.problems == []


async def test_it_is_a_form_that_names_the_server(
    page: Page, cast: Cast, fake_provider: FakeProvider, asking: Outside
) -> None:
    await add(cast, asking, "book_surely")
    fake_provider.call("crm__book_surely", {"what": "a trip"})
    await ask(page, "Book a trip")
    question = page.locator(".approval .question")
    await expect(question).to_contain_text("The external server “crm” asks this")
    await expect(question).to_contain_text('“Which "seat" shall it be?”')
    await page.get_by_label("Aisle").check()
    await page.get_by_label("People").fill("2")
    await page.get_by_label("Why").fill("Legs")
    await page.get_by_label("dog").check()
    await page.reload()  # the question is still there, and empty
    await page.get_by_label("Aisle").check()
    await page.get_by_label("People").fill("2")
    await page.get_by_label("Why").fill("Legs")
    await page.get_by_label("dog").check()
    assert await fits(page)
    await page.get_by_role("button", name="Answer", exact=True).click()
    await expect(question).to_contain_text("Are you sure?")
    fake_provider.reply("Booked.")
    await page.get_by_label("Yes").check()
    await page.get_by_role("button", name="Answer", exact=True).click()
    await expect(last_answer(page)).to_have_text("Booked.")
    assert [one["content"] for one in answers_in(asking) if one["action"] == "accept"][-2:] == [SENT, {}]

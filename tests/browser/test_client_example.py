"""The JavaScript client of docs/websocket.md, in a real browser, with a connection that breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.utils import timezone
from playwright.async_api import Browser, Error, Page

from assistant.models import ApiKey
from tests.api.calling import key_of
from tests.base import Cast
from tests.docs.snippets import ROOT, blocks
from tests.fake_provider import FakeProvider
from tests.line import Line

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
CALL = """async ([source, ...given]) => {
  const client = await import("data:text/javascript," + encodeURIComponent(source));
  return client.ask(...given);
}"""


async def ask(page: Page, line: Line, key: str, **options: int) -> str:
    """Run the document's client in a page of the server."""
    block = next(one for one in blocks(ROOT / "docs/websocket.md", "js") if "function ask(" in one.text)
    await page.goto(f"{line.origin}/healthz")  # randomUUID wants a secure context, which no blank page is
    socket = f"{line.origin.replace('http', 'ws')}/ws/acme/support/"
    return str(await page.evaluate(CALL, [block.text, socket, key, "What time is it?", options]))


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    opened = await browser.new_page(bypass_csp=True)
    yield opened
    await opened.close()


async def test_it_gets_the_whole_answer_once(page: Page, line: Line, cast: Cast, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Half ", gate, "past ", "nine."])
    key = await sync_to_async(key_of)(cast.acme, cast.alice)
    answer = asyncio.create_task(ask(page, line, key))
    await asyncio.to_thread(gate.wait_reached)
    line.drop()
    gate.release()
    assert await answer == "Half past nine."


async def test_it_says_that_a_key_may_be_refused(page: Page, line: Line, cast: Cast) -> None:
    with pytest.raises(Error, match="cannot be reached, or refuses the key"):
        await ask(page, line, "ta_unknown", tries=1)


async def test_it_says_that_a_key_is_no_longer_good(
    page: Page, line: Line, cast: Cast, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Half ", gate, "past nine."])
    key = await sync_to_async(key_of)(cast.acme, cast.alice)
    answer = asyncio.create_task(ask(page, line, key))
    await asyncio.to_thread(gate.wait_reached)
    await ApiKey.objects.filter(tenant=cast.acme).aupdate(revoked_at=timezone.now())
    with pytest.raises(Error, match="The key is no longer good"):
        await answer
    gate.release()

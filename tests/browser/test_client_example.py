"""The JavaScript client of docs/websocket.md, in a real browser, on a line that breaks."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser

from tests.api.calling import key_of
from tests.base import Cast
from tests.docs.snippets import ROOT, blocks
from tests.fake_provider import FakeProvider
from tests.line import Line

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
CALL = """async ([source, ...given]) => {
  const client = await import("data:text/javascript," + encodeURIComponent(source));
  return client.ask(...given);
}"""


async def test_it_gets_the_whole_answer_once(
    browser: Browser, line: Line, cast: Cast, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Half ", gate, "past ", "nine."])
    block = next(one for one in blocks(ROOT / "docs/websocket.md", "js") if "function ask(" in one.text)
    key = await sync_to_async(key_of)(cast.acme, cast.alice)
    page = await browser.new_page(bypass_csp=True)
    await page.goto(f"{line.origin}/healthz")  # randomUUID wants a secure context, which no blank page is
    socket = f"{line.origin.replace('http', 'ws')}/ws/acme/support/"
    answer = asyncio.create_task(page.evaluate(CALL, [block.text, socket, key, "What time is it?"]))
    await asyncio.to_thread(gate.wait_reached)
    line.drop()
    gate.release()
    assert await answer == "Half past nine."
    await page.close()

"""While a small model reads a question, the page says what is awaited, and for how long."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from assistant.models import Provider
from tests.browser.acts import ask, last_answer
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
READING = "The small model is reading the question"


@pytest.mark.parametrize("is_small", [True, False])
async def test_the_wait_for_a_small_model_is_explained(
    page: Page, provider: Provider, fake_provider: FakeProvider, is_small: bool
) -> None:
    await Provider.objects.filter(pk=provider.pk).aupdate(is_small=is_small)
    await page.reload()
    gate = fake_provider.gate()
    fake_provider.reply(chunks=[gate, "Here it is."])
    await page.clock.install()
    await ask(page, "Well?")
    await expect(page.locator(".turn.assistant.working")).to_be_visible()
    await page.clock.run_for(6_000)
    shown = f"{READING} · 6 s" if is_small else ""
    await expect(page.locator(".awaited")).to_have_text(shown)
    gate.release()
    await expect(last_answer(page)).to_have_text("Here it is.")
    await expect(page.locator(".awaited")).to_be_hidden()

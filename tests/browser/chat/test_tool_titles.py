"""The cards of calls that did not run or failed name the tool as those of others do."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Page, expect

from tests.base import Cast
from tests.browser.acts import answered, ask
from tests.factories import make_assistant, switch_tool
from tests.fake_provider import FakeProvider

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


async def test_failed_refused_and_unknown_arguments_keep_the_title(
    page: Page, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "get_customer")
    await sync_to_async(switch_tool)(cast.acme, "update_customer", policy="off")
    await sync_to_async(lambda: cast.support.delegates.add(make_assistant(cast.acme, "expert", name="The expert")))()
    fake_provider.calls(
        [
            ("get_customer", {"customer_id": "does-not-exist"}),
            ("get_customer", {"nonsense": 1}),
            ("get_customer", "{no json"),
            ("update_customer", {}),
            ("find_orders", {}),
            ("ask_expert", {"nonsense": 1}),
        ]
    )
    fake_provider.reply("None of it worked.")
    await ask(page, "Try")
    await answered(page)
    names = page.locator(".activity .tool > summary .tool-name")
    expected = ["Look up a customer"] * 3 + ["Change a customer", "Find orders", "The expert"]
    await expect(names).to_have_text(expected)
    await page.reload()
    await expect(names).to_have_text(expected)

"""The widget tells people who are given no token why, and asks no more until they come back to the page."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from assistant.models import Membership
from assistant.services.tenancy.memberships import add_member
from tests.base import Cast
from tests.browser.conftest import Visitor
from tests.browser.test_widget import Shop, host, shop  # noqa: F401 - fixtures
from tests.live import Server
from tests.ws import session_cookie

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

NO_ACCESS = "You have no access to this assistant."
PLACE_WIDGET = """async () => {
  const loaded = import("/static/assistant/widget.js");
  const attributes = {assistant: "support", "token-url": "/t/acme/widget-token/", inline: ""};
  const widget = document.createElement("tenant-assistant");
  for (const [name, value] of Object.entries(attributes)) widget.setAttribute(name, value);
  document.body.prepend(widget);
  await loaded;
}"""


async def test_whoever_is_no_member_has_no_access_and_is_not_retried_until_they_return(
    browser: Browser, site: Server, cast: Cast
) -> None:
    context = await browser.new_context()
    name, _, value = (await sync_to_async(session_cookie)(cast.mallory)).partition("=")
    await context.add_cookies([{"name": name, "value": value, "url": site.url}])
    made = Visitor(context, site.url)
    page = await made.open("/t/globex/")
    asked: list[int] = []
    page.on("response", lambda answer: asked.append(answer.status) if "widget-token" in answer.url else None)
    await page.clock.install()
    await page.evaluate(PLACE_WIDGET)
    await expect(page.locator(".trouble")).to_have_text(NO_ACCESS)
    await expect(page.locator("tenant-assistant textarea")).to_be_disabled()
    await page.clock.fast_forward("01:00:00")
    assert asked == [404]
    await sync_to_async(add_member)(tenant=cast.acme, username="mallory", role="member")
    await page.evaluate("dispatchEvent(new Event('online'))")
    await expect(page.locator("tenant-assistant textarea")).to_be_enabled()
    await expect(page.locator(".trouble")).to_be_hidden()
    assert asked == [404, 200]
    await Membership.objects.filter(tenant=cast.acme, user=cast.mallory).adelete()
    await expect(page.locator(".trouble")).to_have_text(NO_ACCESS)
    await context.close()


SIGNED_OUT = "You are signed out. Sign in to this site to go on."
ELSEWHERE = {"Location": "https://sign-in.example.com/"}


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"status": 401}, SIGNED_OUT),
        ({"status": 302, "headers": ELSEWHERE}, SIGNED_OUT),
        ({"status": 403}, "You are signed out, or have no access to this assistant."),
        ({"status": 404}, NO_ACCESS),
    ],
    ids=str,
)
async def test_what_the_backend_answers_is_said(answer: dict[str, Any], sentence: str, shop: Shop) -> None:  # noqa: F811
    page: Page = await shop.visit()
    await page.route("**/my-token/**", lambda route: route.fulfill(**answer))
    await page.get_by_role("button", name="Open the assistant").click()
    await expect(page.locator(".trouble")).to_have_text(sentence)
    await expect(page.locator("textarea")).to_be_disabled()
    shop.problems.clear()  # the browser reports the statuses

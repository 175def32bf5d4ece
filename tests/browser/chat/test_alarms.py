"""Alarms ring on the page and in the widget, in every window until one ends them, and notify only when asked to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from playwright.async_api import expect

from assistant.contrib.timed.models import Alarm
from assistant.contrib.timed.services.reminders.alarms import schedule_ring
from tests.base import Cast
from tests.browser.acts import fits
from tests.browser.conftest import Visitor
from tests.browser.test_widget import Shop, host, open_widget, shop  # noqa: F401 - fixtures

# ruff: noqa: F811 - the fixtures of another module
pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
# Counts how often the page has asked for the permission, which nobody has given or refused.
UNDECIDED = """
globalThis.asked = 0;
globalThis.Notification = class { static permission = "default"; static async requestPermission() { asked += 1; } };
"""


@sync_to_async
def set_alarm(tenant: Any, user: Any, number: int = 1, label: str = "Ferry") -> None:
    at = timezone.now() - timedelta(minutes=2)
    schedule_ring(Alarm.objects.create(tenant=tenant, user=user, number=number, at=at, label=label))


async def test_an_alarm_rings_in_every_window_until_one_ends_it(alice_browser: Visitor, cast: Cast) -> None:
    await alice_browser.context.add_init_script(UNDECIDED)
    one, two = await alice_browser.open(), await alice_browser.open()
    await set_alarm(cast.acme, cast.alice)
    for page in (one, two):
        await expect(page.locator(".alarm strong")).to_have_text("Ferry")
        await expect(page.locator(".alarm-time")).to_contain_text("late")
    assert await fits(one) and await one.evaluate("asked") == 0
    await one.get_by_role("button", name="Notify me").click()
    await expect(one.get_by_role("button", name="Notify me")).to_have_count(0)
    assert await one.evaluate("asked") == 1
    await two.locator(".alarm").get_by_role("button", name="In 10 minutes").click()
    for page in (one, two):
        await expect(page.locator(".alarm")).to_have_count(0)
    await expect(two.get_by_label("Message to")).to_be_focused()
    row = await Alarm.objects.aget()
    assert row.state == "set" and row.seen_at is None


async def test_a_reload_shows_what_still_rings(alice_browser: Visitor, cast: Cast) -> None:
    await set_alarm(cast.acme, cast.alice, label="<b>Ferry</b>")
    page = await alice_browser.open()
    await expect(page.locator(".alarm strong")).to_have_text("<b>Ferry</b>")
    await page.reload()
    await page.locator(".alarm").get_by_role("button", name="Done").click()
    await expect(page.locator(".alarm")).to_have_count(0)
    assert (await Alarm.objects.aget()).state == "done"


async def test_the_widgets_button_says_that_an_alarm_rings(shop: Shop, cast: Cast) -> None:
    page = await shop.visit()
    await open_widget(page)
    await page.locator("tenant-assistant .close").click()
    user = await sync_to_async(lambda: cast.acme.end_users.get().user)()
    await set_alarm(cast.acme, user)
    launcher = page.locator("tenant-assistant .launcher.rings")
    await expect(launcher).to_be_visible()
    await sync_to_async(lambda: Alarm.objects.filter(seen_at__isnull=False).update(label="was not to be seen"))()
    await launcher.click()
    await expect(page.locator("tenant-assistant .alarm strong")).to_have_text("Ferry")
    await page.locator("tenant-assistant .alarm").get_by_role("button", name="Done").click()
    await expect(page.locator("tenant-assistant .alarm")).to_have_count(0)
    await expect(launcher).to_have_count(0)

"""The panel inside a host's base template, in a browser: addresses, ways out, and both sides' styles."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from assistant.models import Tenant
from tests.base import PASSWORD, Cast
from tests.browser.conftest import Visitor
from tests.live import Server, serve

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
PANEL = "/office/panel/"
PICTURES = os.environ.get("PICTURES", "")


@pytest.fixture
def host(transactional_db: None, cast: Cast) -> Iterator[Server]:
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.host_project.looks.settings"}) as server:
        yield server


async def test_the_panel_is_used_inside_the_hosts_page(browser: Browser, host: Server, cast: Cast) -> None:
    made = Visitor(await browser.new_context(), host.url)
    page = await made.open(PANEL)
    await page.get_by_label("Username").fill("root")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Enter").click()
    frame = page.frame_locator(".tenant-assistant-panel")
    await expect(page.get_by_role("link", name="Initech")).to_be_visible()
    await expect(frame.get_by_role("navigation", name="Rooms")).to_be_visible()
    # The host's page says where one is, and who; the search and the tenants are the panel's.
    await expect(frame.locator("#branding")).to_be_hidden()
    await expect(frame.locator(".panel-account")).to_be_hidden()
    await expect(frame.get_by_role("search")).to_be_visible()
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / "panel-in-host.png")

    await frame.get_by_role("navigation", name="Rooms").get_by_role("link", name="Tools").click()
    await expect(page).to_have_url(f"{host.url}{PANEL}assistant/toolsetting/switchboard/")
    await expect(page).to_have_title(re.compile("Tenant Assistant"))
    await page.reload()
    await expect(frame.get_by_role("navigation", name="Pages of this room")).to_be_visible()
    await page.go_back()
    await expect(page).to_have_url(f"{host.url}{PANEL}")

    await page.goto(f"{host.url}{PANEL}assistant/tenant/{cast.acme.pk}/change/")
    await frame.locator("#id_name").fill("Acme & Sons")
    await frame.get_by_role("button", name="Save", exact=True).click()
    await expect(frame.get_by_text("was changed successfully")).to_be_visible()
    assert (await Tenant.objects.aget(pk=cast.acme.pk)).name == "Acme & Sons"
    if PICTURES:
        await page.set_viewport_size({"width": 390, "height": 844})
        await page.screenshot(path=Path(PICTURES) / "panel-in-host-phone.png")

    # Who is signed out elsewhere signs in again at the host's page, in the window.
    await made.context.clear_cookies(name="sessionid")
    await frame.get_by_role("navigation", name="Rooms").get_by_role("link", name="Home").click()
    await expect(page.get_by_role("heading", name="Sign in to Initech")).to_be_visible()
    await made.context.close()
    assert made.problems == []

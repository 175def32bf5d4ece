"""Bundles and models of providers in the browser: from staging to production, and the field that offers models."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, expect

from assistant.models import ToolSetting
from tests.base import Cast
from tests.browser.admin.test_model_pages import enter
from tests.browser.conftest import Visitor
from tests.factories import make_provider, switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def roots(browser: Browser, uvicorn_server: Server, cast: Cast) -> AsyncIterator[Visitor]:
    visitor = await enter(browser, uvicorn_server.url, "root", viewport={"width": 1366, "height": 900})
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


async def test_a_configuration_goes_to_another_tenant_in_four_clicks(
    roots: Visitor, cast: Cast, tmp_path: Path
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "current_time", "ask")
    page = await roots.open(f"/admin/assistant/tenant/{cast.acme.pk}/overview/")
    async with page.expect_download() as saving:
        await page.get_by_role("link", name="Export the configuration").click()
    await (await saving.value).save_as(tmp_path / "acme.json")
    await page.goto(f"{roots.origin}/admin/assistant/tenant/{cast.globex.pk}/overview/")
    await page.get_by_role("link", name="Bundle").click()
    await page.get_by_label("Bundle").set_input_files(tmp_path / "acme.json")
    await expect(page.get_by_role("heading", name="Will be created")).to_be_visible()
    await page.get_by_role("button", name="Import this").click()
    await expect(page.get_by_text("Imported: 1 created, 1 changed.")).to_be_visible()
    assert (await ToolSetting.objects.aget(tenant=cast.globex)).policy == "ask"


async def test_the_model_field_offers_what_the_chosen_provider_lists(
    roots: Visitor, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(make_provider)(None, base_url=fake_provider.url, name="Shared")
    page = await roots.open(f"/admin/assistant/assistant/{cast.support.pk}/change/")
    await page.get_by_label("Provider:", exact=True).select_option(label="Shared")
    await page.get_by_label("Model:", exact=True).focus()
    await expect(page.get_by_role("status").get_by_text("It lists 1 model.")).to_be_visible()
    await expect(page.locator("#provider-models option")).to_have_attribute("value", "fake")

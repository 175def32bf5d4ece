"""The pictures of docs/admin.md: pages of the control panel of a site that is in use, taken with `make pictures`."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.core.management import call_command
from playwright.async_api import Browser

from assistant.models import Assistant, Conversation
from tests.base import Cast
from tests.browser.admin.test_model_pages import enter
from tests.browser.conftest import Visitor
from tests.docs.snippets import ROOT
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
IMAGES = ROOT / "docs/images"
NAMES = re.findall(r"\]\(images/(admin-[\w-]+)\.png\)", (ROOT / "docs/admin.md").read_text())
# Wide enough for a table, low enough for a page of text.
SIZE = {"width": 1200, "height": 720}
TENANT = "seed-0003"
PAGES = {
    "admin-home": "/admin/",
    "admin-tools": f"/admin/assistant/toolsetting/switchboard/{TENANT}/",
    "admin-prompt": "/admin/assistant/promptversion/editor/{assistant}/",
    "admin-conversation": "/admin/assistant/conversation/{conversation}/change/",
}


@pytest_asyncio.fixture(loop_scope="session")
async def operator(browser: Browser, site: Server, cast: Cast) -> AsyncIterator[Visitor]:
    await sync_to_async(call_command)("assistant_seed", tenants=6, days=30, force=True, stdout=StringIO())
    visitor = await enter(browser, site.url, "root", viewport=SIZE)
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


async def test_each_picture_can_be_taken(operator: Visitor, tmp_path: Path) -> None:
    folder = IMAGES if os.environ.get("RECORD_PICTURES") == "true" else tmp_path
    assistant = await Assistant.objects.filter(tenant__slug=TENANT).afirst()
    conversation = await Conversation.objects.filter(tenant__slug=TENANT).order_by("created_at").afirst()
    assert assistant is not None and conversation is not None
    for name, address in PAGES.items():
        page = await operator.open(address.format(assistant=assistant.pk, conversation=conversation.pk))
        await page.wait_for_load_state("networkidle")
        assert await page.get_by_role("heading").count() > 0
        await page.screenshot(path=folder / f"{name}.png", animations="disabled")
        await page.close()
    taken = {path.stem for path in folder.glob("admin-*.png")}
    assert taken == {*PAGES} == {*NAMES}

"""The admin in the browser: every page under the strict policy, and switches set by one click."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import RequestFactory
from playwright.async_api import Browser, Page, expect

from assistant.contrib.panel.admin.tenants import tabs
from assistant.models import Membership, ToolSetting
from assistant.services.assistants.prompts import draft_prompt
from tests.base import PASSWORD, Cast
from tests.browser.conftest import Visitor
from tests.browser.test_looks import contrast
from tests.contrib.panel.conftest import say_something
from tests.live import Server

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]

# Those of the page of spend are further down.
BARS = ":is(.panel-rooms, .panel-pages, .tenant-page:not(.spend-page) .tenant-tabs) [aria-current]"
BOARD = "/admin/assistant/toolsetting/switchboard/acme/"


async def enter(browser: Browser, origin: str, username: str, **options: object) -> Visitor:
    context = await browser.new_context(**options)  # type: ignore[arg-type]
    visitor = Visitor(context, origin)
    page = await visitor.open("/admin/login/?next=/admin/")
    await page.get_by_label("Username").fill(username)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", name="Needs you")).to_be_visible()
    await page.close()
    return visitor


@pytest_asyncio.fixture(loop_scope="session")
async def amys(browser: Browser, uvicorn_server: Server, cast: Cast) -> AsyncIterator[Visitor]:
    visitor = await enter(browser, uvicorn_server.url, "amy")
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


def pages_of_models() -> list[str]:
    """Each model's list, form and newest row's page, but for those of what is switched off here."""
    found = []
    request = RequestFactory().get("/admin/")
    request.user = User.objects.get(username="root")
    for model, page in admin.site._registry.items():
        if not page.has_view_permission(request):
            continue
        base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        found.append(base)
        if page.has_add_permission(request):
            found.append(f"{base}add/")
        row = model._default_manager.last()
        if row is not None:
            found.append(f"{base}{row.pk}/change/")
    return found


def own_pages(cast: Cast) -> list[str]:
    """The panel's pages besides those of models."""
    tenant, assistant = f"/admin/assistant/tenant/{cast.acme.pk}", cast.support.pk
    return [
        "/admin/",
        "/admin/spend/",
        "/admin/search/?q=support",
        "/admin/advanced/",
        BOARD,
        BOARD.replace("acme/", ""),
        "/admin/assistant/toolsetting/tool/get_customer/",
        "/admin/assistant/toolsetting/simulate/?tenant=acme",
        f"/admin/assistant/promptversion/editor/{assistant}/",
        f"/admin/assistant/promptversion/editor/{assistant}/compare/",
        f"/admin/assistant_evaluations/evaluation/new/{assistant}/",
        f"/admin/assistant_evaluations/hostilecheckrun/of/{assistant}/",
        f"/admin/auth/user/{cast.alice.pk}/delete/",
        *(f"{tenant}/{tab.slug}/" for tab in tabs.TABS),
    ]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("pages", ["of models", "own"])
async def test_every_page_works_under_the_strict_policy_begins_at_its_top_and_does_not_scroll_sideways(
    pages: str, browser: Browser, uvicorn_server: Server, cast: Cast
) -> None:
    await sync_to_async(say_something)(cast)
    await sync_to_async(draft_prompt)(assistant=cast.support, text="Be brief.")
    visitor = await enter(browser, uvicorn_server.url, "root")
    page = await visitor.open("/admin/")
    wide, scrolled = [], []
    for number, path in enumerate(own_pages(cast) if pages == "own" else await sync_to_async(pages_of_models)()):
        # Pages are loaded at one size and taken to the other, every second one from the phone's.
        sizes = (("light", 1366), ("dark", 390)) if number % 2 else (("dark", 390), ("light", 1366))
        for place, (scheme, width) in enumerate(sizes):
            await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await page.set_viewport_size({"width": width, "height": 844})
            if place == 0:
                answer = await page.goto(visitor.origin + path)
                assert answer is not None
                assert answer.status == 200, path
                if await page.evaluate("new Promise(done => requestAnimationFrame(() => done(scrollY)))"):
                    scrolled.append(f"{path} at {width}")
            if not await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"):
                wide.append(f"{path} at {width}")
    assert (wide, scrolled) == ([], [])
    await visitor.context.close()
    assert visitor.problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_buttons_and_heads_of_djangos_own_have_contrast(
    scheme: str, browser: Browser, uvicorn_server: Server, cast: Cast
) -> None:
    run = await sync_to_async(say_something)(cast)
    roots = await enter(browser, uvicorn_server.url, "root", color_scheme=scheme)
    for path, texts in {
        f"/admin/assistant/assistant/{cast.support.pk}/delete/": ".cancel-link",
        f"/admin/assistant/run/{run.pk}/change/": ".closelink",
        "/admin/auth/group/add/": ".selector-chosen-title label, .selector-chosen-title .helptext",
        "/admin/assistant/toolsetting/tool/current_time/": ".state.on",
    }.items():
        page = await roots.open(path)
        for text in await page.locator(texts).all():
            assert await contrast(text) >= 4.5, (path, await text.inner_text())
        assert await page.locator(texts).count()
        await page.close()
    await roots.context.close()


async def test_the_boxes_of_one_field_are_as_wide_as_their_text(
    browser: Browser, uvicorn_server: Server, cast: Cast
) -> None:
    member = await Membership.objects.aget(tenant=cast.acme, user=cast.alice)
    roots = await enter(browser, uvicorn_server.url, "root", viewport={"width": 1366, "height": 768})
    page = await roots.open(f"/admin/assistant/membership/{member.pk}/change/")
    heights = await page.locator("#id_new_roles label").evaluate_all("all => all.map(one => one.offsetHeight)")
    assert len(heights) == 7
    assert max(heights) < 30
    await roots.context.close()


async def test_the_bar_of_rooms_begins_with_the_current_one_in_sight(
    browser: Browser, uvicorn_server: Server, cast: Cast
) -> None:
    roots = await enter(browser, uvicorn_server.url, "root", viewport={"width": 390, "height": 844})
    tenant = f"/admin/assistant/tenant/{cast.acme.pk}"
    paths = (
        "/admin/spend/",
        "/admin/assistant/auditentry/",
        "/admin/advanced/",
        f"{tenant}/danger/",
        f"{tenant}/change/",
    )
    for path in paths:
        page = await roots.open(path)
        for current in await page.locator(BARS).all():
            await expect(current).to_be_in_viewport(ratio=0.9)
        await page.close()
    await roots.context.close()


async def test_a_switch_is_set_by_one_click_without_a_reload(amys: Visitor, cast: Cast) -> None:
    page = await amys.open(BOARD)
    await page.evaluate("window.isStill = true")
    group = page.get_by_role("group", name="get_customer, Acme", exact=True)
    await group.get_by_role("button", name="Ask").click()
    await expect(page.get_by_role("status")).to_contain_text("get_customer asks first")
    await expect(group.get_by_role("button", name="Ask")).to_have_attribute("aria-pressed", "true")
    await expect(group.get_by_role("button", name="Ask")).to_be_focused()
    assert await page.evaluate("window.isStill") is True
    setting = await ToolSetting.objects.aget(tenant=cast.acme, tool="get_customer")
    assert setting.policy == "ask"


async def test_a_switch_can_be_set_without_javascript(
    browser: Browser, uvicorn_server: Server, amys: Visitor, cast: Cast
) -> None:
    state = await amys.context.storage_state()
    context = await browser.new_context(java_script_enabled=False, storage_state=state)
    page = await context.new_page()
    await page.goto(uvicorn_server.url + BOARD)
    await page.get_by_role("group", name="get_customer, Support").get_by_role("button", name="Off").click()
    await expect(page.locator(".messagelist")).to_contain_text("get_customer is off")
    setting = await ToolSetting.objects.aget(assistant=cast.support, tool="get_customer")
    assert setting.policy == "off"
    await context.close()


async def test_a_new_key_is_shown_and_copied(amys: Visitor, cast: Cast) -> None:
    await amys.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = await amys.open("/admin/assistant/apikey/add/")
    await page.locator("#id_user").select_option(label="alice")
    await page.locator("#id_name").fill("backend")
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.get_by_role("button", name="Copy").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert str(await page.evaluate("navigator.clipboard.readText()")).startswith("ta_")


async def test_the_board_fits_a_phone(browser: Browser, uvicorn_server: Server, cast: Cast) -> None:
    visitor = await enter(browser, uvicorn_server.url, "amy", viewport={"width": 390, "height": 844})
    page: Page = await visitor.open(BOARD)
    assert await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    await visitor.context.close()
    assert visitor.problems == []

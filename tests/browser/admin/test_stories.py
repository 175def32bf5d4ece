"""Ten stories of operators, done by hand in a browser, with the clicks counted."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from assistant.contrib.evaluations.models import Evaluation
from assistant.contrib.insights.models import WarningSettings
from assistant.models import (
    ApiKey,
    Assistant,
    Feedback,
    Membership,
    PromptVersion,
    TenantLimits,
    ToolBlock,
    ToolCall,
    ToolSetting,
    UsageEntry,
)
from assistant.services.tenancy.members import create_api_key
from assistant.services.tenancy.permissions import permitted_tenants
from tests.base import Cast
from tests.browser.admin.counted import Story, check, type_into
from tests.browser.admin.test_model_pages import enter
from tests.browser.conftest import Visitor
from tests.contrib.panel.conftest import say_something
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import open_socket

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]
in_db = sync_to_async


@pytest_asyncio.fixture(loop_scope="session")
async def roots(browser: Browser, site: Server, cast: Cast) -> AsyncIterator[Visitor]:
    visitor = await enter(browser, site.url, "root", viewport={"width": 1366, "height": 768})
    yield visitor
    await visitor.context.close()
    assert visitor.problems == []


@pytest_asyncio.fixture(loop_scope="session")
async def story(roots: Visitor) -> Story:
    return Story(roots)


async def room(page: Page, name: str) -> None:
    await page.get_by_role("navigation", name="Rooms").get_by_role("link", name=name, exact=True).click()


async def search(page: Page, text: str) -> None:
    await type_into(page.get_by_role("searchbox", name="Search"), text)
    await page.keyboard.press("Enter")


async def test_a_tenant_with_owner_assistant_prompt_and_three_tools(story: Story, cast: Cast) -> None:
    page = await story.begin()
    await room(page, "Tenants")
    await page.get_by_role("link", name="Add tenant").click()
    await expect(page.get_by_label("Name", exact=False).first).to_be_focused()
    await page.keyboard.type("Initech")
    await type_into(page.get_by_label("Owner"), "oscar")
    await type_into(page.get_by_label("Prompt"), "You help Initech's customers. Be brief.")
    for tool in ("get_customer", "find_orders", "search_docs"):
        await page.locator(".wizard-tools label", has_text=re.compile(rf"^\s*{tool}\b")).click()
    await page.get_by_role("button", name="Make the tenant").click()
    await expect(page.get_by_role("heading", name="Initech")).to_be_visible()
    made = await Assistant.objects.select_related("tenant").aget(tenant__slug="initech")
    assert await made.prompt_versions.filter(status="published", text__startswith="You help Initech").aexists()
    assert await Membership.objects.filter(tenant=made.tenant, user=cast.oscar, role="owner").aexists()
    tools = ToolSetting.objects.filter(tenant=made.tenant, policy="on").values_list("tool", flat=True)
    assert {tool async for tool in tools} >= {"get_customer", "find_orders", "search_docs"}
    check("On-board a tenant: owner, assistant, prompt, three tools", story.clicks, 8)


async def test_a_tool_off_for_everyone_now(story: Story, cast: Cast) -> None:
    page = await story.begin()
    await room(page, "Tools")
    await page.locator("thead").get_by_role("link", name="get_customer", exact=True).click()
    await expect(page.get_by_text("Tenants affected")).to_be_visible()
    await type_into(page.get_by_label("Reason"), "Leaks addresses")
    await page.get_by_role("button", name="Switch off for everyone").click()
    await expect(page.locator(".block-rule")).to_contain_text("Leaks addresses")
    assert await ToolBlock.objects.filter(tool="get_customer").aexists()
    check("A tool off for everyone now, seeing who is affected", story.clicks, 3)


async def test_from_a_wrong_answer_to_its_trace(story: Story, cast: Cast) -> None:
    for _ in range(3):
        run = await in_db(say_something)(cast)
    await Feedback.objects.filter(message__run=run).aupdate(rating=-1)
    page = await story.begin()
    await room(page, "Conversations")
    await page.locator("#changelist-filter summary", has_text="Rating").click()
    await page.get_by_role("link", name="Thumbs down").click()
    await page.locator("#result_list").get_by_role("link", name="Opening hours").click()
    trace = page.locator("#content")
    await expect(trace).to_contain_text("At nine.")
    await expect(trace.get_by_role("link", name="current_time")).to_be_visible()
    check("From a wrong answer to its trace", story.clicks, 4)


async def test_draft_try_compare_publish_roll_back(story: Story, cast: Cast, fake_provider: FakeProvider) -> None:
    for _ in range(20):
        await in_db(say_something)(cast)
    await Membership.objects.acreate(tenant=cast.acme, user=cast.root, role="admin")
    page = await story.begin()
    await room(page, "Assistants")
    row = page.locator("#result_list tr", has_text="Acme Support")
    await row.get_by_role("link", name="Editor").click()
    text = page.get_by_label("Prompt", exact=True)
    await text.press("Control+End")
    await text.press_sequentially(" Say the day of the week too.")
    await page.get_by_role("button", name="Save and try").click()
    await expect(page.locator("body")).to_have_attribute("data-connection", "open")
    await page.keyboard.type("When do you open?")
    await page.keyboard.press("Enter")
    await expect(page.locator(".turn.assistant .footer time")).to_be_visible()
    await page.get_by_role("link", name="Compare on stored questions").click()
    await page.get_by_role("button", name="Compare", exact=True).click()
    await expect(page.locator(".evaluation-word.done")).to_be_visible(timeout=60_000)
    evaluation = await Evaluation.objects.aget()
    assert await evaluation.cases.acount() == 20
    await page.get_by_role("link", name="Publish version 2").click()
    await page.get_by_role("button", name="Publish now").click()
    await expect(page.locator(".messagelist")).to_contain_text("Version 2 of")
    assert (await PromptVersion.objects.aget(assistant=cast.support, status="published")).number == 2
    await page.get_by_role("button", name="Roll back to this v1").click()
    await page.get_by_role("button", name="Publish now").click()
    await expect(page.locator(".messagelist")).to_contain_text("Version 1 of")
    assert (await PromptVersion.objects.aget(assistant=cast.support, status="published")).number == 1
    check("Draft, try, compare on 20 old questions, publish, roll back", story.clicks, 10)  # two answer questions


async def test_a_cap_with_its_meter_and_a_warning(story: Story, cast: Cast) -> None:
    await in_db(say_something)(cast)
    await UsageEntry.objects.filter(tenant=cast.acme).aupdate(cost=5_000_000)
    page = await story.begin()
    await room(page, "Spend")
    await page.get_by_role("link", name="Limits of Acme").click()
    await type_into(page.get_by_role("group", name="All members together").get_by_label("Cost a month"), "10")
    await type_into(page.get_by_label("Warn at"), "80")
    await page.get_by_role("button", name="Save the limits").click()
    await expect(page.locator(".messagelist")).to_be_visible()
    limits = await TenantLimits.objects.aget(tenant=cast.acme)
    warnings = await WarningSettings.objects.aget(tenant=cast.acme)
    assert (limits.tenant_cost_per_month, warnings.percentages) == (10, [80])
    check("A cap, its meter, and a warning at 80 %", story.clicks, 4)


async def test_who_costs_most_this_month(story: Story, cast: Cast) -> None:
    await in_db(say_something)(cast)
    await UsageEntry.objects.aupdate(cost=5_000_000)
    page = await story.begin()
    await room(page, "Spend")
    await page.get_by_role("navigation", name="Spend by").get_by_role("link", name="Person").click()
    await expect(page.locator("tbody tr", has_text="alice").last).to_contain_text("100.0 %")
    check("Who costs most this month", story.clicks, 2)


async def test_four_approvals(story: Story, cast: Cast, fake_provider: FakeProvider) -> None:
    await in_db(switch_tool)(cast.acme, "calculate", "ask")
    async with open_socket(story.visitor.origin, user=cast.alice) as socket:
        for number in range(4):
            fake_provider.call("calculate", {"expression": f"{number}+1"})
            await socket.ask("How much is it?")
    page = await story.begin()
    await room(page, "Inbox")
    await page.locator("#action-toggle").click()
    await expect(page.locator(".action-counter")).to_have_text("4 of 4 selected")
    await page.get_by_role("button", name="Approve the selected calls").click()
    await expect(page.locator(".messagelist")).to_contain_text("Answered: calculate.")
    await expect(page.locator("#content")).to_contain_text("No tool call waits for an approval")
    calls = ToolCall.objects.filter(name="calculate", decided_by=cast.root)
    assert await calls.acount() == 4
    check("Four approvals", story.clicks, 4)


async def test_a_leaked_key_rotated_with_its_users_seen(story: Story, cast: Cast) -> None:
    key, secret = await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="Back office")
    page = await story.begin()
    await search(page, secret[:14])
    await page.get_by_role("link", name="Back office").click()
    await expect(page.get_by_role("heading", name="Runs that it started")).to_be_visible()
    await page.get_by_role("button", name="Make the new key").click()
    await expect(page.get_by_role("heading", name="The new API key")).to_be_visible()
    await key.arefresh_from_db()
    assert key.revoked_at is not None or key.expires_at is not None
    assert await ApiKey.objects.filter(tenant=cast.acme, revoked_at=None).aexists()
    check("A leaked key rotated, its users seen", story.clicks, 3)


async def test_a_colleague_who_switches_tools_and_reads_no_chats(story: Story, cast: Cast) -> None:
    page = await story.begin()
    await search(page, "alice")
    await page.locator(".panel-results").get_by_role("link", name="alice").click()
    await page.get_by_label("Tools: Switch tools").click()
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator(".messagelist")).to_be_visible()
    permitted = await in_db(permitted_tenants)(cast.alice)
    assert permitted.tenants("tools") == {cast.acme.pk}
    assert permitted.tenants("read_chats") == frozenset()
    check("A colleague who may switch tools and not read chats", story.clicks, 4)


async def test_from_staging_to_production(story: Story, cast: Cast, tmp_path: Path) -> None:
    await in_db(switch_tool)(cast.acme, "current_time", "ask")
    page = await story.begin(f"/admin/assistant/tenant/{cast.acme.pk}/overview/")
    async with page.expect_download() as saving:
        await page.get_by_role("link", name="Export the configuration").click()
    await (await saving.value).save_as(tmp_path / "acme.json")
    await page.goto(f"{story.visitor.origin}/admin/assistant/tenant/{cast.globex.pk}/overview/")
    await page.get_by_role("link", name="Bundle").click()
    async with page.expect_file_chooser() as choosing:
        await page.get_by_label("Bundle").click()
    await (await choosing.value).set_files(tmp_path / "acme.json")
    await expect(page.get_by_role("heading", name="Will be created")).to_be_visible()
    await page.get_by_role("button", name="Import this").click()
    await expect(page.get_by_text("Imported: ")).to_be_visible()
    assert (await ToolSetting.objects.aget(tenant=cast.globex)).policy == "ask"
    check("Staging to production, from the tenant's page of each", story.clicks, 4)

"""How the chat page shows tools and delegates within an answer."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, Page, expect

from assistant.models import Assistant, Provider, ToolCall
from tests.base import Cast
from tests.browser.acts import answered, ask, last_answer
from tests.browser.conftest import make_visitor
from tests.factories import switch_tool
from tests.fake_answers import chunk
from tests.fake_provider import FakeProvider
from tests.live import serve
from tests.services.runs.test_waiting_calls import summarising

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.asyncio(loop_scope="session")]


async def test_the_summary_of_a_long_conversation_appears_automatically(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    await Assistant.objects.filter(pk=cast.support.pk).aupdate(history_tokens=400)
    fake_provider.rule(summarising)
    remembered = page.get_by_text("What the assistant remembers of the earlier part")
    await expect(remembered).to_be_hidden()
    for number in range(5):
        await ask(page, f"Sheep number {number} " + "wool " * 40)
        await expect(page.locator(".answer")).to_have_count(number + 1)
        await answered(page)
    await remembered.click()
    await expect(page.get_by_text("They talked about sheep.")).to_be_visible()


async def test_a_person_gives_the_result_instead_of_the_tool(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "2+2"})
    await ask(page, "Add")
    await page.get_by_role("button", name="Answer instead").click()
    await page.get_by_role("button", name="Give this answer").click()
    await expect(page.get_by_role("alert").filter(has_text="Say what the result is")).to_be_visible()
    await page.get_by_label("Result to use instead of running the tool").fill("Five, I say.")
    fake_provider.reply("Five.")
    await page.get_by_role("button", name="Give this answer").click()
    await expect(last_answer(page)).to_have_text("Five.")
    assert fake_provider.requests[-1].last_text == "Five, I say."


async def test_invalid_edited_arguments_are_asked_for_again(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "find_customers", "ask")
    fake_provider.call("find_customers", {"query": "refunds"})
    await ask(page, "Look")
    await page.get_by_role("button", name="Edit arguments").click()
    edited = page.get_by_label("Query")
    await edited.evaluate("(one) => one.removeAttribute('maxlength')")
    await edited.fill("x" * 600)
    await page.get_by_role("button", name="Approve with these").click()
    await expect(page.locator(".approval .error")).to_contain_text("do not fit find_customers")
    await edited.fill("Innsbruck")
    await expect(page.locator(".approval .error")).to_be_hidden()
    fake_provider.reply("Found.")
    await page.get_by_role("button", name="Approve with these").click()
    await expect(last_answer(page)).to_have_text("Found.")
    await expect(page.locator(".approval")).to_have_count(0)
    assert "Innsbruck" in str(fake_provider.requests[-1].json["messages"])


async def test_several_calls_are_answered_each_in_its_own_way(
    page: Page, fake_provider: FakeProvider, cast: Cast
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.calls([("calculate", {"expression": "1+1"}), ("calculate", {"expression": "2+2"})])
    await ask(page, "Add")
    first, second = page.locator(".approval").nth(0), page.locator(".approval").nth(1)
    await first.get_by_role("button", name="Approve").click()
    await second.get_by_role("button", name="Reject").click()
    fake_provider.reply("One of them.")
    await second.get_by_role("button", name="Reject").click()
    await expect(last_answer(page)).to_have_text("One of them.")
    rows = [row async for row in ToolCall.objects.order_by("pk").values_list("status", flat=True)]
    assert rows == ["ok", "declined"]


async def test_images_are_shown_and_other_files_saved_and_both_survive_a_reload(
    browser: Browser, cast: Cast, provider: Provider, fake_provider: FakeProvider, transactional_db: None
) -> None:
    fake_provider.call("draw_a_chart", {})
    fake_provider.reply("Here.")
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool"}) as server:
        visitor = await make_visitor(browser, server.url)
        page = await visitor.open()
        await ask(page, "Draw")
        await answered(page)
        for is_reloaded in (False, True):
            if is_reloaded:
                await page.reload()
            image = page.get_by_role("img", name="sales.png")
            await expect(image).to_be_visible()
            await expect(page.locator(".tool-files figure")).to_have_count(2)
            await expect(page.locator(".tool")).not_to_have_attribute("open", "")
            assert await image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
            async with page.expect_download() as download:
                await page.get_by_role("link", name="sales.csv").click()
            assert (await download.value).suggested_filename == "sales.csv"
            await page.locator(".tool summary").click()
            await expect(page.locator(".tool-result")).to_contain_text("4%")
        await visitor.context.close()
    assert visitor.problems == []


async def test_text_after_a_call_goes_on_in_the_same_answer(
    page: Page, cast: Cast, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate")
    wanted = {"index": 0, "id": "call_1", "function": {"name": "calculate", "arguments": '{"expression": "6*7"}'}}
    gate = fake_provider.gate()
    deltas = ({"content": "I *count*.\n\n"}, {"tool_calls": [wanted]}, {"content": "It takes "})
    fake_provider.stream(
        *(chunk(delta) for delta in deltas), gate, chunk({"content": "a **while**."}), chunk(finish="tool_calls")
    )
    fake_provider.reply("It is 42.")
    await ask(page, "6 times 7?")
    answers = page.locator(".turn.assistant > .items > .answer")
    await expect(answers).to_have_text("I count. It takes")
    await page.reload()
    await expect(answers).to_have_text("I count. It takes")
    gate.release()
    await answered(page)
    for _ in range(2):
        await expect(answers).to_have_text(["I count. It takes a while.", "It is 42."])
        await expect(answers.first.locator("em, strong")).to_have_text(["count", "while"])
        await page.reload()

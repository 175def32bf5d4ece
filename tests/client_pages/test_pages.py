"""CopilotKit and assistant-ui in Chromium, on a page of another site: what a person does with a chat."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from playwright.async_api import Browser, FilePayload, Page, expect

from assistant.models import Message, Provider, Run
from tests.base import Cast
from tests.browser.conftest import browser  # noqa: F401 - a fixture
from tests.client_pages.site import bundle, lose_connection, runs_become, site
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server

# ruff: noqa: F811 - the fixture of another module
pytestmark = [
    pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]  # fmt: skip
CLIENTS = ("copilotkit", "assistant-ui")
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="session", params=CLIENTS)
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    bundle(request.param, folder)
    return request.param, folder


@pytest.fixture
def address(
    client: tuple[str, Path], uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> Iterator[str]:
    with site(*client, uvicorn_server, cast) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, address: str) -> AsyncIterator[Page]:
    context = await browser.new_context()
    page = await context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    await page.goto(address)
    yield page
    await context.close()
    assert errors == []


async def say(page: Page, text: str) -> None:
    box = page.get_by_role("textbox").last
    await box.fill(text)
    await box.press("Enter")


async def test_text_and_a_tool_of_the_server(page: Page, cast: Cast, fake_provider: FakeProvider) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("It is forty-two.")
    await say(page, "6*7?")
    await expect(page.get_by_text("It is forty-two.")).to_be_visible()
    await expect(page.get_by_text("calculate").first).to_be_visible()
    fake_provider.reply("Still here.")
    await say(page, "And now?")
    await expect(page.get_by_text("Still here.")).to_be_visible()
    await runs_become("finished", "finished")


@pytest.mark.parametrize(("button", "status"), [("Approve", "ok"), ("Decline", "declined")])
async def test_an_approval(button: str, status: str, page: Page, cast: Cast, fake_provider: FakeProvider) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("That was it.")
    await say(page, "6*7?")
    await page.get_by_role("button", name=button).click()
    await expect(page.get_by_text("That was it.")).to_be_visible()
    calls = [call.status async for run in Run.objects.all() async for call in run.tool_calls.all()]
    assert calls == [status]
    fake_provider.reply("Still here.")
    await say(page, "And now?")
    await expect(page.get_by_text("Still here.")).to_be_visible()


async def test_stop_and_another_message(page: Page, fake_provider: FakeProvider, client: tuple[str, Path]) -> None:
    fake_provider.reply(chunks=["Once upon", fake_provider.gate(), " a time"])
    await say(page, "A story")
    await expect(page.get_by_text("Once upon")).to_be_visible()
    name = re.compile("Stop") if client[0] == "assistant-ui" else re.compile("stop", re.IGNORECASE)
    stop = page.get_by_role("button", name=name)
    await (stop if await stop.count() else page.get_by_test_id("copilot-send-button")).first.click()
    fake_provider.reply("Gladly.")
    await say(page, "No, a poem")
    await expect(page.get_by_text("Gladly.")).to_be_visible()
    await runs_become("cancelled", "finished")


async def test_a_tool_of_the_page(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("pick_colour", {})
    fake_provider.reply("Blue it is.")
    await say(page, "Which colour?")
    await expect(page.get_by_text("Blue it is.")).to_be_visible()
    assert "blue" in fake_provider.requests[-1].json["messages"][-1]["content"]


async def test_a_lost_connection_stops_nothing(page: Page, fake_provider: FakeProvider) -> None:
    await lose_connection(page, fake_provider, say)


async def test_a_reload_goes_on_with_the_thread(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("I shall remember.")
    await say(page, "My name is Alice")
    await expect(page.get_by_text("I shall remember.")).to_be_visible()
    await page.reload()
    fake_provider.reply("You are Alice.")
    await say(page, "Who am I?")
    await expect(page.get_by_text("You are Alice.")).to_be_visible()
    texts = [str(message["content"]) for message in fake_provider.requests[-1].json["messages"][1:]]
    assert texts[:2] == ["My name is Alice", "I shall remember."] and texts[-1].endswith("Who am I?")


async def test_try_again(page: Page, fake_provider: FakeProvider, client: tuple[str, Path]) -> None:
    fake_provider.reply("First answer.")
    await say(page, "Tell me")
    await expect(page.get_by_text("First answer.")).to_be_visible()
    fake_provider.reply("Second answer.")
    again = page.get_by_test_id("copilot-regenerate-button")
    await (page.get_by_role("button", name="Try again") if client[0] == "assistant-ui" else again).last.click()
    await expect(page.get_by_text("Second answer.")).to_be_visible()
    assert [one.content async for one in Message.objects.filter(role="user")] == ["Tell me"]


async def test_edit(page: Page, fake_provider: FakeProvider, client: tuple[str, Path]) -> None:
    for number in (1, 2):
        fake_provider.reply(f"Answer {number}.")
        await say(page, f"Question {number}")
        await expect(page.get_by_text(f"Answer {number}.")).to_be_visible()
    fake_provider.reply("Another answer.")
    if client[0] == "assistant-ui":
        await page.get_by_role("button", name="Edit").last.click()
        await page.get_by_label("Edit message").fill("Question two")
        await page.get_by_role("button", name="Save").click()
    else:
        page.once("dialog", lambda dialog: dialog.accept("Question two"))
        await page.get_by_test_id("copilot-user-message").last.hover()
        await page.get_by_test_id("copilot-edit-button").last.click()
    await expect(page.get_by_text("Another answer.")).to_be_visible()
    texts = [str(message["content"]) for message in fake_provider.requests[-1].json["messages"][1:]]
    assert texts == ["Question 1", "Answer 1.", "Question two"]


async def test_an_image(page: Page, provider: Provider, fake_provider: FakeProvider, client: tuple[str, Path]) -> None:
    await Provider.objects.aupdate(sees_images=True)
    dot: FilePayload = {"name": "dot.png", "mimeType": "image/png", "buffer": PIXEL}
    if client[0] == "assistant-ui":
        async with page.expect_file_chooser() as chooser:
            await page.get_by_role("button", name="Attach").click()
        await (await chooser.value).set_files(dot)
    else:
        await page.locator("input[type=file]").set_input_files(dot)
        await expect(page.get_by_test_id("copilot-attachment-queue")).to_be_visible()
    fake_provider.reply("A dot.")
    await say(page, "What is this?")
    await expect(page.get_by_text("A dot.")).to_be_visible()
    content = fake_provider.requests[-1].json["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]

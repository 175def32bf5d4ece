"""`@ag-ui/client` in Chromium, of both versions, on a page of another site that has no framework."""

from __future__ import annotations

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
from tests.client_pages.test_pages import PIXEL
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server

# ruff: noqa: F811 - the fixture of another module
pytestmark = [
    pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]  # fmt: skip


CLIENT = "ag-ui-client"
PACKAGES = {"1.0.0": "", "0.0.59": "@ag-ui/client=@ag-ui/client-0.0.59"}


@pytest.fixture(scope="session", params=PACKAGES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(CLIENT)
    bundle(CLIENT, folder, language="js", alias=PACKAGES[request.param])
    return folder


@pytest.fixture
def address(folder: Path, uvicorn_server: Server, cast: Cast, provider: Provider) -> Iterator[str]:
    with site(CLIENT, folder, uvicorn_server, cast) as started:
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
    await page.get_by_role("button", name=button, exact=True).click()
    await expect(page.get_by_text("That was it.")).to_be_visible()
    calls = [call.status async for run in Run.objects.all() async for call in run.tool_calls.all()]
    assert calls == [status]


async def test_stop_and_another_message(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=["Once upon", fake_provider.gate(), " a time"])
    await say(page, "A story")
    await expect(page.get_by_text("Once upon")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    fake_provider.reply("Gladly.")
    await say(page, "No, a poem")
    await expect(page.get_by_text("Gladly.")).to_be_visible()
    await runs_become("cancelled", "finished")


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


async def test_a_tool_of_the_page(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.call("pick_colour", {})
    fake_provider.reply("Blue it is.")
    await say(page, "Which colour?")
    await expect(page.get_by_text("Blue it is.")).to_be_visible()
    assert "blue" in fake_provider.requests[-1].json["messages"][-1]["content"]


async def test_try_again(page: Page, fake_provider: FakeProvider) -> None:
    fake_provider.reply("First answer.")
    await say(page, "Tell me")
    await expect(page.get_by_text("First answer.")).to_be_visible()
    fake_provider.reply("Second answer.")
    await page.get_by_role("button", name="Try again").last.click()
    await expect(page.get_by_text("Second answer.")).to_be_visible()
    assert [one.content async for one in Message.objects.filter(role="user")] == ["Tell me"]


@pytest.mark.parametrize("changed", ["Question 1", "Question 2"])
async def test_edit(page: Page, fake_provider: FakeProvider, changed: str) -> None:
    for number in (1, 2):
        fake_provider.reply(f"Answer {number}.")
        await say(page, f"Question {number}")
        await expect(page.get_by_text(f"Answer {number}.")).to_be_visible()
    fake_provider.reply("Another answer.")
    page.once("dialog", lambda dialog: dialog.accept("Something else"))
    await page.get_by_role("article").filter(has_text=changed).get_by_role("button", name="Edit").click()
    await expect(page.get_by_text("Another answer.")).to_be_visible()
    before = [] if changed == "Question 1" else ["Question 1", "Answer 1."]
    texts = [str(message["content"]) for message in fake_provider.requests[-1].json["messages"][1:]]
    assert texts == [*before, "Something else"]


async def test_an_image(page: Page, provider: Provider, fake_provider: FakeProvider) -> None:
    await Provider.objects.aupdate(sees_images=True)
    dot: FilePayload = {"name": "dot.png", "mimeType": "image/png", "buffer": PIXEL}
    await page.get_by_label("Attach an image").set_input_files(dot)
    fake_provider.reply("A dot.")
    await say(page, "What is this?")
    await expect(page.get_by_text("A dot.")).to_be_visible()
    content = fake_provider.requests[-1].json["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url"]

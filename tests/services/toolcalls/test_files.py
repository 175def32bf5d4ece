"""Files that tools return: only the member can open them, also after a reload."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from assistant.models import Provider, ToolCall, ToolFile
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.slow_tool.tools import PIXEL
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket, session_cookie

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server(cast: Cast, provider: Provider) -> Iterator[Server]:
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool"}) as running:
        yield running


async def fetch(server: Server, path: str, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=server.url) as client:
        return await client.get(path, headers=headers)


async def test_only_the_member_can_open_an_image(server: Server, cast: Cast, fake_provider: FakeProvider) -> None:
    await Provider.objects.aupdate(sees_images=True)
    fake_provider.call("draw_a_chart", {})
    fake_provider.reply("Here it is.")
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Draw")
        await socket.attach(frames[0]["threadId"])
        picture = await socket.until_type("RUN_FINISHED")
    (told,) = [frame["value"] for frame in frames if frame.get("name") == "tool.finished"]
    image, table = told["media"]
    assert (image["name"], image["mediaType"], table["name"]) == ("sales.png", "image/png", "sales.csv")
    (stored,) = [message for message in picture[1]["messages"] if message["role"] == "tool"]
    assert stored["metadata"]["tool"]["media"] == told["media"]
    assert stored["metadata"]["tool"]["display"] == {"rise": "4%"}
    shown = fake_provider.requests[1].json["messages"][-1]["content"][1]
    assert shown["image_url"]["url"].startswith("data:image/png;base64,")

    alice = await in_db(session_cookie)(cast.alice)
    answer = await fetch(server, image["url"], Cookie=alice)
    assert answer.content == PIXEL
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["content-disposition"].startswith("inline")
    saved = await fetch(server, table["url"], Cookie=alice)
    assert saved.headers["content-disposition"] == 'attachment; filename="sales.csv"'
    _, key = await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="k", scopes=["read"])
    assert (await fetch(server, image["url"], Authorization=f"Bearer {key}")).content == PIXEL

    for stranger in (cast.amy, cast.mallory, cast.oscar):
        cookie = await in_db(session_cookie)(stranger)
        assert (await fetch(server, image["url"], Cookie=cookie)).status_code == 404
        theirs = image["url"].replace("/acme/", "/globex/")
        assert (await fetch(server, theirs, Cookie=cookie)).status_code == 404
    assert (await fetch(server, image["url"])).status_code == 401


async def test_an_operator_of_the_tenant_sees_the_files_of_a_call(
    server: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    fake_provider.call("draw_a_chart", {})
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.ask("Draw")
    call = await ToolCall.objects.aget()
    file = await ToolFile.objects.filter(media_type="image/png").aget()
    path = f"/admin/assistant/toolcall/{call.pk}/files/{file.pk}/"
    amy, greta = await in_db(session_cookie)(cast.amy), await in_db(session_cookie)(cast.greta)
    page = await fetch(server, f"/admin/assistant/toolcall/{call.pk}/change/", Cookie=amy)
    assert path in page.text
    assert (await fetch(server, path, Cookie=amy)).content == PIXEL
    assert (await fetch(server, path, Cookie=greta)).status_code == 404

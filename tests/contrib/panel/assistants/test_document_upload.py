"""A file that takes long to read holds nobody else up, and ends as an error in the form."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from assistant.models import Document, Provider
from tests.agui import text_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import serve
from tests.services.knowledge.hostile_pdf import HOSTILE
from tests.services.knowledge.test_hostile_files import readers
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket, session_cookie

pytestmark = pytest.mark.django_db(transaction=True)

ADD = "/admin/assistant/document/add/"


async def upload(url: str, cookie: str, cast: Cast) -> str:
    """Post a PDF that takes long to read; the page that answers."""
    async with httpx2.AsyncClient(base_url=url, headers={"Cookie": cookie}, timeout=60) as browser:
        token = (await browser.get(ADD)).cookies["csrftoken"]
        fields = {"tenant": cast.acme.pk, "title": "Slow", "kind": "pdf", "text": "", "csrfmiddlewaretoken": token}
        headers = {"Cookie": f"{cookie}; csrftoken={token}", "Referer": url + ADD}
        file = {"file": ("slow.pdf", HOSTILE["forms"]())}
        return (await browser.post(ADD, data=fields, files=file, headers=headers)).text


async def test_others_chat_while_a_file_is_read(cast: Cast, provider: Provider, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello")
    cookie = await in_db(session_cookie)(cast.amy)
    with serve(env={"ASSISTANT_FILE_READ_SECONDS": "8"}) as server:
        uploading = asyncio.create_task(upload(server.url, cookie, cast))
        async with asyncio.timeout(20), open_socket(server.url, user=cast.alice) as socket:
            while not readers(server.process.pid):
                assert not uploading.done(), await uploading
                await asyncio.sleep(0.01)
            assert text_of(await socket.ask("Hi")) == "Hello"
            assert readers(server.process.pid) == 1
            assert not uploading.done()
        assert "This file takes too long to read" in await uploading
    assert not await Document.objects.aexists()

"""Static files as they are sent: packed, read by pages of other origins, while developing too."""

from __future__ import annotations

import gzip
from typing import Any

import httpx2
import pytest
from django.core.asgi import get_asgi_application
from django.test import override_settings

from assistant.routing import with_assistant
from tests.docs.snippets import ROOT
from tests.live import Server

WIDGET = "/static/assistant/widget.js"
CONTENT = (ROOT / "assistant/static/assistant/widget.js").read_bytes()


async def developed(path: str, **headers: str) -> httpx2.Response:
    """The answer of a project's own application with DEBUG, where WhiteNoise has nothing to say."""
    with override_settings(DEBUG=True, MIDDLEWARE=[]):
        transport = httpx2.ASGITransport(with_assistant(get_asgi_application()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path, headers=headers)


@pytest.mark.asyncio
async def test_while_developing_any_page_may_load_the_widget() -> None:
    answer = await developed(WIDGET, Origin="http://localhost:9000")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert (answer.headers["Content-Encoding"], answer.content) == ("gzip", CONTENT)


@pytest.mark.parametrize("packs", [True, False], ids=["packed", "as it is"])
def test_a_text_comes_packed_to_whoever_takes_it_so(packs: bool, uvicorn_server: Server) -> None:
    headers = {"Accept-Encoding": "gzip" if packs else "identity"}
    with httpx2.stream("GET", uvicorn_server.url + WIDGET, headers=headers) as answer:
        raw = b"".join(answer.iter_raw())
    assert (gzip.decompress(raw) if packs else raw) == CONTENT
    assert "Accept-Encoding" in answer.headers["Vary"]


def test_what_has_not_changed_is_not_sent_again(uvicorn_server: Server) -> None:
    first = httpx2.get(uvicorn_server.url + WIDGET)
    assert first.headers["Content-Encoding"] == "gzip"
    seen: dict[str, Any] = {"If-Modified-Since": first.headers["Last-Modified"]}
    assert httpx2.get(uvicorn_server.url + WIDGET, headers=seen).status_code == 304


def test_a_picture_is_not_packed_twice(uvicorn_server: Server) -> None:
    answer = httpx2.get(uvicorn_server.url + "/static/rest_framework/img/grid.png")
    assert answer.status_code == 200 and "Content-Encoding" not in answer.headers


def test_an_ordinary_request_to_a_websocket_is_told_to_upgrade_whatever_it_names(uvicorn_server: Server) -> None:
    for name in ("acme", "nobody"):
        answer = httpx2.get(f"{uvicorn_server.url}/ws/{name}/support/", headers={"Origin": "https://a.example"})
        assert (answer.status_code, answer.headers["Upgrade"], answer.content) == (426, "websocket", b"")
        assert answer.headers["Access-Control-Allow-Origin"] == "*"

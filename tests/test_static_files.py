"""Static files are compressed and readable by pages of other origins, in development too."""

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


async def response_in_development(path: str, **headers: str) -> httpx2.Response:
    """Return the response of a project's own application with DEBUG, without WhiteNoise."""
    with override_settings(DEBUG=True, MIDDLEWARE=[]):
        transport = httpx2.ASGITransport(with_assistant(get_asgi_application()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path, headers=headers)


@pytest.mark.asyncio
async def test_any_origin_may_load_the_widget_in_development() -> None:
    answer = await response_in_development(WIDGET, Origin="http://localhost:9000")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert (answer.headers["Content-Encoding"], answer.content) == ("gzip", CONTENT)


@pytest.mark.parametrize("packs", [True, False], ids=["packed", "as it is"])
def test_text_is_compressed_for_clients_that_accept_it(packs: bool, uvicorn_server: Server) -> None:
    headers = {"Accept-Encoding": "gzip" if packs else "identity"}
    with httpx2.stream("GET", uvicorn_server.url + WIDGET, headers=headers) as answer:
        raw = b"".join(answer.iter_raw())
    assert (gzip.decompress(raw) if packs else raw) == CONTENT
    assert "Accept-Encoding" in answer.headers["Vary"]


def test_an_unchanged_file_is_not_sent_again(uvicorn_server: Server) -> None:
    first = httpx2.get(uvicorn_server.url + WIDGET)
    assert first.headers["Content-Encoding"] == "gzip"
    seen: dict[str, Any] = {"If-Modified-Since": first.headers["Last-Modified"]}
    assert httpx2.get(uvicorn_server.url + WIDGET, headers=seen).status_code == 304


def test_an_image_is_not_compressed_again(uvicorn_server: Server) -> None:
    answer = httpx2.get(uvicorn_server.url + "/static/rest_framework/img/grid.png")
    assert answer.status_code == 200 and "Content-Encoding" not in answer.headers


def test_an_http_request_to_any_websocket_address_gets_426(uvicorn_server: Server) -> None:
    for name in ("acme", "nobody"):
        answer = httpx2.get(f"{uvicorn_server.url}/ws/{name}/support/", headers={"Origin": "https://a.example"})
        assert (answer.status_code, answer.headers["Upgrade"], answer.content) == (426, "websocket", b"")
        assert answer.headers["Access-Control-Allow-Origin"] == "*"

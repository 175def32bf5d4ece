"""Static files are compressed and readable by pages of other origins, in development too."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from django.core.asgi import get_asgi_application
from django.test import override_settings

from assistant.routing import with_assistant
from assistant.staticfiles import with_static_files
from tests.docs.snippets import ROOT
from tests.live import Server

WIDGET = "/static/assistant/widget.js"
CONTENT = (ROOT / "assistant/contrib/end_users/static/assistant/widget.js").read_bytes()


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


async def response_in_project(path: str, **changed: Any) -> httpx2.Response:
    """The answer of a project's application without DEBUG, and with its own middleware and settings."""
    with override_settings(**{"DEBUG": False, "MIDDLEWARE": [], "STATIC_ROOT": None} | changed):
        transport = httpx2.ASGITransport(with_assistant(get_asgi_application()))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get(path)


async def test_a_project_without_debug_serves_the_assistants_files_alone() -> None:
    answer = await response_in_project(WIDGET)
    assert (answer.status_code, answer.content) == (200, CONTENT)
    assert answer.headers["Access-Control-Allow-Origin"] == "*" and answer.headers["Cache-Control"]
    for path in ("/static/admin/css/base.css", "/static/assistant/../admin/css/base.css", "/static/assistant/none.js"):
        assert (await response_in_project(path)).status_code == 404
    assert (await response_in_project(WIDGET, ASSISTANT_STATIC_FROM_SERVER=False)).status_code == 404


async def test_a_collected_file_comes_first_since_its_name_may_have_a_hash(tmp_path: Path) -> None:
    (tmp_path / "assistant").mkdir()
    (tmp_path / "assistant/widget.0123.js").write_text("// hashed")
    answer = await response_in_project("/static/assistant/widget.0123.js", STATIC_ROOT=str(tmp_path))
    assert (answer.status_code, answer.text) == (200, "// hashed")


def test_whitenoise_serves_them_where_a_project_has_it() -> None:
    site = object()
    with override_settings(DEBUG=False, MIDDLEWARE=["config.staticfiles.StaticFilesMiddleware"]):
        assert with_static_files(site) is site


async def test_files_of_another_host_are_not_ours_to_serve() -> None:
    assert (await response_in_project(WIDGET, STATIC_URL="https://cdn.example/static/")).status_code == 404


@pytest.mark.parametrize("path", ["/static/assistant/../../config/settings.py", "/static/assistant/%2e%2e/x"])
async def test_a_path_that_leaves_the_folder_is_not_found(path: str) -> None:
    sent: list[Any] = []
    body = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        return next(body, None) or await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    async def site(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the site is not asked")

    scope = {"type": "http", "method": "GET", "path": unquote(path), "headers": [], "query_string": b""}
    with override_settings(DEBUG=False, MIDDLEWARE=[]):
        await with_static_files(site)(scope, receive, send)
    assert sent[0]["status"] == 404

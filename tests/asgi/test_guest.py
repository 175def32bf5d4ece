"""In another project the assistant lies below its mount, in every language, and its own addresses come first."""

from __future__ import annotations

import logging
from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async as in_db
from asgiref.testing import ApplicationCommunicator
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.urls import path

from assistant.asgi.body_sizes import size_bound
from assistant.routing import with_assistant
from assistant.services.addresses import api_mounts, api_url, mounts, page_mounts
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.apps]
LARGE = 20 * 1024 * 1024
GUESTS = "tests.asgi.guests"


@pytest.fixture(params=["plain"])
def guest(request: pytest.FixtureRequest, settings: Any) -> str:
    settings.ROOT_URLCONF = f"{GUESTS}.{request.param}"
    return str(request.param)


def client(**options: Any) -> httpx2.AsyncClient:
    application = with_assistant(get_asgi_application(), **options)
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(application), base_url="http://localhost")


async def shake_hands(application: Any, address: str) -> str:
    """Ask for a websocket without credentials; return what came, or the error."""
    scope = {"type": "websocket", "path": address, "raw_path": address.encode(), "query_string": b"", "headers": []}
    talk: Any = ApplicationCommunicator(application, {**scope, "subprotocols": [], "client": ["127.0.0.1", 1]})
    await talk.send_input({"type": "websocket.connect"})
    return str((await talk.receive_output())["type"])


async def tutorial(scope: Any, receive: Any, send: Any) -> None:
    """A websocket at the address of Channels' own tutorial."""
    await receive()
    await send({"type": "websocket.accept"})


async def test_a_projects_own_page_takes_what_it_took_and_is_not_logged_or_marked(
    guest: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "assistant"):
        async with client() as http:
            answer = await http.post("/size/", content=b"x" * LARGE)
            assert (answer.status_code, answer.text) == (200, f"{LARGE} bytes")
            assert "x-request-id" not in answer.headers and caplog.records == []
            refused = await http.post("/help/t/acme/", content=b"x" * LARGE)
            assert refused.status_code == 413 and "x-request-id" in refused.headers


async def test_a_project_may_have_its_whole_site_bounded(guest: str) -> None:
    async with client(whole_site=True) as http:
        answer = await http.post("/size/", content=b"x" * LARGE)
    assert answer.status_code == 413 and "x-request-id" in answer.headers


async def test_everything_lies_below_the_mount_and_the_projects_own_addresses_come_first(guest: str) -> None:
    async with client() as http:
        for address in ("/mcp/", "/ws/acme/support/", "/v1/models", "/healthz", "/api/docs/"):
            assert (await http.get(address)).status_code == 404
        assert (await http.get("/help/mcp/")).text == "the project's own"
        for address, status in (("ws/acme/support/", 426), ("v1/models", 401), ("healthz", 200), ("api/docs/", 200)):
            assert (await http.get(f"/help/{address}")).status_code == status


async def test_the_projects_websockets_are_asked_first(guest: str) -> None:
    routes = URLRouter([path("ws/<slug:room>/<slug:name>/", tutorial), path("help/ws/chat/lobby/", tutorial)])
    site = get_asgi_application()
    for application in (
        with_assistant(site, websockets=routes),
        with_assistant(ProtocolTypeRouter({"http": site, "websocket": routes})),
    ):
        for address in ("/ws/chat/lobby/", "/help/ws/chat/lobby/"):
            assert await shake_hands(application, address) == "websocket.accept"
        assert await shake_hands(application, "/help/ws/acme/support/") == "websocket.close"


async def test_without_websockets_of_its_own_others_are_refused(guest: str) -> None:
    assert await shake_hands(with_assistant(get_asgi_application()), "/ws/chat/lobby/") == "websocket.close"


@pytest.mark.parametrize("guest", ["together"], indirect=True)
async def test_bounds_and_probes_hold_in_every_language(guest: str, settings: Any) -> None:
    assert {"/en/help/", "/de/help/"} <= {*mounts()} == {*api_mounts()} == {*page_mounts()}
    for mount in mounts():
        upload = {"type": "http", "path": f"{mount}api/v1/tenants/acme/attachments/"}
        assert size_bound(upload) == size_bound({**upload, "path": upload["path"].rstrip("/")})
        assert size_bound(upload) == settings.ASSISTANT_MAX_UPLOAD_BYTES
        async with client() as http:
            # A probe asks by the address of a port, which is no name of the site.
            assert (await http.get(f"{mount}healthz", headers={"Host": "127.0.0.9:8001"})).status_code == 200
            assert (await http.post(f"{mount}t/acme/", content=b"x" * LARGE)).status_code == 413
            assert (await http.get(f"{mount}ws/acme/support/")).status_code == 426
            assert (await http.get(f"{mount}mcp")).status_code == 401


@pytest.mark.parametrize("guest", ["apart"], indirect=True)
async def test_apis_can_be_mounted_apart_from_pages_with_a_language(guest: str, cast: Cast) -> None:
    assert api_mounts() == ("/apis/",) and {"/en/help/", "/de/help/"} <= {*page_mounts()}
    assert api_url("websocket", tenant="acme", assistant="support") == "/apis/ws/acme/support/"
    _, key = await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="k", scopes=["chat", "read", "tools"])
    async with client() as http:
        http.headers["Authorization"] = f"Bearer {key}"
        found = await http.get("/apis/api/v1/tenants/acme/assistants")
        assert found.status_code == 200 and "support" in found.text
        assert (await http.get("/apis/v1/models/")).status_code == 200
        assert (await http.get("/de/help/accounts/login/")).status_code == 200
        for absent in ("/de/help/api/v1/tenants/acme/assistants/", "/de/help/healthz", "/apis/accounts/login/"):
            assert (await http.get(absent)).status_code == 404

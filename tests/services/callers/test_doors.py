"""Every door that accepts API keys or sessions refuses invalid ones: a checklist for a new door.

The admin has its own sign-in (tests/contrib/panel/tenants/test_scope.py); end users' tokens are tested in
tests/contrib/end_users.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from websockets.exceptions import InvalidStatus

from assistant.models import ApiKey, Membership, Tenant
from assistant.services.tenancy.members import create_api_key
from assistant.services.tenancy.scopes import SCOPES
from tests.base import Cast
from tests.isolation.tries import DOORS, MCP, WEBSOCKET
from tests.live import Server
from tests.mcp.talking import headers, message
from tests.ws import open_socket, run_input, session_cookie

pytestmark = pytest.mark.django_db(transaction=True)

API = "/api/v1/tenants/acme/"
SOME_ID = str(uuid.UUID(int=1))
COMPLETION = {"model": "support", "messages": [{"role": "user", "content": "Hi"}]}


@dataclass(frozen=True)
class Door:
    """A request that a door answers with `admitted` to a caller with one of the `scopes`."""

    door: str
    method: str
    path: str
    scopes: tuple[str, ...]
    admitted: int
    body: Any = None

    @property
    def names_tenant(self) -> bool:
        """Whether the address names a tenant; if not, the key decides."""
        return "acme" in self.path


OF_KEYS = (
    Door("REST", "GET", f"{API}conversations/", ("read",), 200),
    Door("REST", "POST", f"{API}conversations/", ("chat",), 201, {"assistant": "support"}),
    Door("REST", "GET", f"{API}files/{SOME_ID}/", ("read",), 404),
    Door("REST", "GET", f"{API}attachments/{SOME_ID}/content/", ("read",), 404),
    Door("exports", "GET", f"{API}conversations/{SOME_ID}/export/", ("read",), 404),
    Door("SSE", "POST", f"{API}assistants/support/runs/", ("chat",), 200, run_input("Hi")),
    Door("SSE", "GET", f"{API}runs/{SOME_ID}/events/", ("read", "chat"), 404),
    # No page may show the assistant yet, which only a caller who is admitted is told.
    Door("widget", "POST", f"{API}assistants/support/end-user-tokens/", ("end_users",), 403, {"user_id": "c-1"}),
    Door("/v1", "GET", "/v1/models", ("chat", "read"), 200),
    Door("/v1", "POST", "/v1/chat/completions", ("chat",), 400, {**COMPLETION, "messages": []}),
    Door(MCP, "POST", "/mcp/", ("tools",), 200, message("tools/list")),
    Door(WEBSOCKET, "header", "/ws/acme/support/", ("chat", "read"), 101),
    Door(WEBSOCKET, "subprotocol", "/ws/acme/support/", ("chat", "read"), 101),
)
OF_SESSIONS = (
    Door("pages", "GET", "/t/acme/", (), 200),
    Door("REST", "GET", f"{API}conversations/", (), 200),
    Door(WEBSOCKET, "cookie", "/ws/acme/support/", (), 101),
)
# The admin is where webhooks are set up.
SIGN_IN_BY_THEMSELVES = {"admin", "webhooks"}


async def send_request(server: Server, door: Door, *, key: str | None = None, cookie: str = "") -> tuple[int, str]:
    """Return the status and body of a door's response; 101 for a websocket that was opened."""
    if door.door == WEBSOCKET:
        subprotocols = ("agui.v1", f"bearer.{key}") if key and door.method == "subprotocol" else ()
        sent = {"Cookie": cookie} if cookie else {}
        try:
            async with open_socket(
                server.url,
                key=(key or "") if door.method == "header" else "",
                subprotocols=subprotocols,
                origin=server.url,
                headers=sent,
            ):
                return 101, ""
        except InvalidStatus as refusal:
            return refusal.response.status_code, ""
    sent = headers(key, "tools/list" if door.door == MCP else "") | ({"cookie": cookie} if cookie else {})
    async with httpx2.AsyncClient(base_url=server.url) as client:
        answer = await client.request(door.method, door.path, json=door.body, headers=sent)
        return answer.status_code, answer.text


def key_of(cast: Cast, scopes: tuple[str, ...] = SCOPES) -> str:
    return create_api_key(tenant=cast.acme, user=cast.alice, name="test", scopes=scopes)[1]


def revoke(cast: Cast) -> None:
    ApiKey.objects.filter(tenant=cast.acme).update(revoked_at=timezone.now())


def expire(cast: Cast) -> None:
    ApiKey.objects.filter(tenant=cast.acme).update(expires_at=timezone.now())


def suspend(cast: Cast) -> None:
    Tenant.objects.filter(pk=cast.acme.pk).update(is_active=False)


def remove_member(cast: Cast) -> None:
    Membership.objects.filter(tenant=cast.acme, user=cast.alice).delete()


def deactivate(cast: Cast) -> None:
    type(cast.alice).objects.filter(pk=cast.alice.pk).update(is_active=False)


def test_every_door_is_on_the_list() -> None:
    listed = {door.door for door in (*OF_KEYS, *OF_SESSIONS)} | SIGN_IN_BY_THEMSELVES
    assert listed == {*DOORS, MCP, WEBSOCKET}


@pytest.mark.parametrize("door", OF_KEYS, ids=lambda door: f"{door.method} {door.path}")
async def test_a_key_with_one_of_the_scopes_is_admitted(door: Door, uvicorn_server: Server, cast: Cast) -> None:
    for scope in door.scopes:
        key = await sync_to_async(key_of)(cast, (scope,))
        status, _ = await send_request(uvicorn_server, door, key=key)
        assert status == door.admitted


async def test_a_key_without_any_of_the_scopes_is_refused(uvicorn_server: Server, cast: Cast) -> None:
    for door in OF_KEYS:
        others = tuple(scope for scope in SCOPES if scope not in door.scopes)
        status, body = await send_request(uvicorn_server, door, key=await sync_to_async(key_of)(cast, others))
        assert status == 403 and (door.door == WEBSOCKET or f"{' or '.join(door.scopes)} scope" in body), door


@pytest.mark.parametrize("key", [None, "x", "ta_unknown", "eu_unknown"])
async def test_no_key_and_an_unknown_one_are_refused(key: str | None, uvicorn_server: Server, cast: Cast) -> None:
    for door in OF_KEYS:
        assert (await send_request(uvicorn_server, door, key=key))[0] == (403 if door.door == WEBSOCKET else 401), door


@pytest.mark.parametrize("end", [revoke, expire, suspend, remove_member, deactivate])
async def test_a_key_ends_when_it_its_member_or_its_tenant_ends(
    end: Callable[[Cast], None], uvicorn_server: Server, cast: Cast
) -> None:
    key = await sync_to_async(key_of)(cast)
    await sync_to_async(end)(cast)
    for door in OF_KEYS:
        assert (await send_request(uvicorn_server, door, key=key))[0] == (403 if door.door == WEBSOCKET else 401), door


async def test_a_key_of_another_tenant_is_not_found(uvicorn_server: Server, cast: Cast) -> None:
    row, key = await sync_to_async(create_api_key)(tenant=cast.globex, user=cast.mallory, name="test", scopes=SCOPES)
    assert row.tenant_id != cast.acme.pk
    for door in OF_KEYS:
        if door.names_tenant:
            assert (await send_request(uvicorn_server, door, key=key))[0] == (403 if door.door == WEBSOCKET else 404), (
                door
            )


async def test_a_members_session_is_admitted(uvicorn_server: Server, cast: Cast) -> None:
    cookie = await sync_to_async(session_cookie)(cast.alice)
    for door in OF_SESSIONS:
        assert (await send_request(uvicorn_server, door, cookie=cookie))[0] == door.admitted, door


async def test_doors_for_keys_do_not_accept_sessions(uvicorn_server: Server, cast: Cast) -> None:
    cookie = await sync_to_async(session_cookie)(cast.alice)
    for door in OF_KEYS:
        if door.door in {"/v1", MCP}:
            assert (await send_request(uvicorn_server, door, cookie=cookie))[0] == 401, door


@pytest.mark.parametrize("end", [suspend, remove_member, deactivate])
async def test_a_session_ends_when_its_member_or_tenant_ends(
    end: Callable[[Cast], None], uvicorn_server: Server, cast: Cast
) -> None:
    cookie = await sync_to_async(session_cookie)(cast.alice)
    await sync_to_async(end)(cast)
    signed_out = end is deactivate
    refused = {"pages": 302 if signed_out else 404, "REST": 401 if signed_out else 404, WEBSOCKET: 403}
    for door in OF_SESSIONS:
        assert (await send_request(uvicorn_server, door, cookie=cookie))[0] == refused[door.door], door


@pytest.mark.parametrize("who", ["mallory", "oscar"])
async def test_a_session_of_another_tenant_is_not_found(who: str, uvicorn_server: Server, cast: Cast) -> None:
    cookie = await sync_to_async(session_cookie)(getattr(cast, who))
    for door in OF_SESSIONS:
        assert (await send_request(uvicorn_server, door, cookie=cookie))[0] == (
            403 if door.door == WEBSOCKET else 404
        ), door

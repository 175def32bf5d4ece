"""Access to `/mcp/` by key, scope, host and origin."""

from __future__ import annotations

import httpx2
import pytest
from django.utils import timezone

from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.factories import switch_tool
from tests.live import Server
from tests.mcp.talking import OLDER, Client, headers, message, text_of

pytestmark = pytest.mark.django_db(transaction=True)


def key_of(cast: Cast, **more: object) -> str:
    return create_api_key(tenant=cast.acme, user=cast.alice, name="mcp", **more)[1]  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_a_key_lists_and_calls_the_tenants_tools(version: str, server: Server, cast: Cast) -> None:
    switch_tool(cast.acme, "calculate")
    alice = Client(server.url, key_of(cast), version=version)
    assert "calculate" in alice.tools()
    result = alice.call("calculate", {"expression": "6*7"})
    assert "42" in text_of(result) and not result.get("isError")


@pytest.mark.parametrize("key", [None, "ta_nobody-has-this-one", "x"])
def test_a_bad_key_is_answered_with_the_metadata_url(key: str | None, server: Server, cast: Cast) -> None:
    answer = Client(server.url, key).post("tools/list")
    assert answer.status_code == 401
    challenge = answer.headers["www-authenticate"]
    assert challenge.startswith("Bearer ") and 'scope="tools"' in challenge
    where = challenge.partition('resource_metadata="')[2].partition('"')[0]
    about = httpx2.get(where)
    assert about.status_code == 200 and about.json()["resource"] == f"{server.url}/mcp/"


def test_a_key_in_the_query_string_is_ignored(server: Server, cast: Cast) -> None:
    answer = httpx2.post(f"{server.url}/mcp/?key={key_of(cast)}", json=message("tools/list"), headers=headers(None))
    assert answer.status_code == 401


def test_a_key_without_the_scope_is_refused(server: Server, cast: Cast) -> None:
    answer = Client(server.url, key_of(cast, scopes=["chat", "read"])).post("tools/list")
    assert answer.status_code == 403 and 'error="insufficient_scope"' in answer.headers["www-authenticate"]


@pytest.mark.parametrize("ending", ["revoked", "expired", "suspended", "dismissed", "inactive"])
def test_a_key_ends_with_its_member_and_tenant(ending: str, uvicorn_server: Server, cast: Cast) -> None:
    row, key = create_api_key(tenant=cast.acme, user=cast.alice, name="mcp")
    alice = Client(uvicorn_server.url, key)
    assert alice.post("tools/list").status_code == 200
    if ending == "revoked":
        type(row).objects.filter(pk=row.pk).update(revoked_at=timezone.now())
    elif ending == "expired":
        type(row).objects.filter(pk=row.pk).update(expires_at=timezone.now())
    elif ending == "suspended":
        type(cast.acme).objects.filter(pk=cast.acme.pk).update(is_active=False)
    elif ending == "dismissed":
        cast.acme.memberships.filter(user=cast.alice).delete()
    else:
        type(cast.alice).objects.filter(pk=cast.alice.pk).update(is_active=False)
    assert alice.post("tools/list").status_code == 401


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("host", "evil.example.com", 421),
        ("origin", "http://evil.example.com", 403),
        ("origin", "null", 403),
        ("origin", "https://{host}", 403),
    ],
)
def test_another_sites_page_is_refused(name: str, value: str, status: int, server: Server, cast: Cast) -> None:
    value = value.replace("{host}", server.url.removeprefix("http://"))
    assert Client(server.url, key_of(cast)).post("tools/list", **{name: value}).status_code == status


def test_a_page_of_the_site_itself_is_allowed(uvicorn_server: Server, cast: Cast) -> None:
    assert Client(uvicorn_server.url, key_of(cast)).post("tools/list", origin=uvicorn_server.url).status_code == 200


def test_a_switched_off_tool_is_neither_listed_nor_called(uvicorn_server: Server, cast: Cast) -> None:
    alice = Client(uvicorn_server.url, key_of(cast))
    switch_tool(cast.acme, "calculate")
    assert "calculate" in alice.tools()
    switch_tool(cast.acme, "calculate", "off")
    assert "calculate" not in alice.tools()
    answer = alice.ask("tools/call", {"name": "calculate", "arguments": {"expression": "1+1"}})
    assert answer["error"]["code"] == -32602


def test_too_large_a_body_is_refused(server: Server, cast: Cast) -> None:
    answer = Client(server.url, key_of(cast)).post("tools/call", {"name": "calculate", "arguments": {"x": "y" * 2**21}})
    assert answer.status_code == 413


def test_an_older_client_initializes_first(server: Server, cast: Cast) -> None:
    alice = Client(server.url, key_of(cast), version=OLDER)
    info = {"protocolVersion": OLDER, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    result = alice.result("initialize", info)
    assert result["protocolVersion"] == OLDER and result["capabilities"]["tools"] == {"listChanged": True}
    assert alice.post("notifications/initialized").status_code in {200, 202}

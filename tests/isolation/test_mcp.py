"""No method of the MCP server shows, joins or changes another tenant's rows; each is called with their ids."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from assistant.models import Assistant, Tenant, ToolCall
from assistant.models.knowledge import Document
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.isolation.planting import CANARY, CANARY_HEAD, plant, rows_of
from tests.live import Server, serve
from tests.mcp.talking import MODERN, OLDER, Client, Json

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

# Methods with an endless stream; tests/contrib/mcp_server/test_changes.py tests who gets its events.
STREAMS = {"subscriptions/listen"}


def requests_against(rows: Mapping[type, Any]) -> dict[str, list[Json]]:
    """Return requests of every method with the ids of another tenant's rows."""
    tenant, assistant, document = rows[Tenant], rows[Assistant], rows[Document]
    uris = [f"knowledge://documents/{document.pk}", f"knowledge://{tenant.slug}/documents/{document.pk}"]
    meta = {"tenant": tenant.slug, "tenant_id": tenant.pk}
    info = {"protocolVersion": OLDER, "capabilities": {}, "clientInfo": {"name": tenant.slug, "version": "1"}}
    lists: list[Json] = [{}, {"_meta": meta}, {"tenant": tenant.slug}]
    own = ToolCall.objects.filter(tenant=tenant).earliest("pk")
    return {
        "initialize": [info],
        "ping": [{}],
        "server/discover": lists,
        "tools/list": lists,
        "tools/call": [
            {"name": "search_docs", "arguments": {"queries": [CANARY_HEAD]}},
            {"name": "search_docs", "arguments": {"queries": [CANARY_HEAD], "tenant": tenant.slug}},
            {"name": "get_customer", "arguments": {"customer_id": 1}, "_meta": meta},
            {"name": "list_alarms", "arguments": {}},
            {"name": "calculate", "arguments": {"expression": "1"}, "requestState": own.call_id},
        ],
        "prompts/list": lists,
        "prompts/get": [{"name": assistant.slug}, {"name": f"{tenant.slug}/{assistant.slug}"}],
        "resources/list": lists,
        "resources/templates/list": lists,
        "resources/read": [{"uri": uri} for uri in uris],
        "resources/subscribe": [{"uri": uri} for uri in uris],
        "resources/unsubscribe": [{"uri": uri} for uri in uris],
        "completion/complete": [
            {
                "ref": {"type": "ref/prompt", "name": assistant.slug},
                "argument": {"name": "x", "value": CANARY_HEAD[:3]},
            },
            {"ref": {"type": "ref/resource", "uri": uris[0]}, "argument": {"name": "number", "value": ""}},
        ],
        "logging/setLevel": [{"level": "debug"}],
    }


def answers(server: Server, key: str, rows: Mapping[type, Any]) -> Iterator[tuple[str, str]]:
    for version in (MODERN, OLDER):
        client = Client(server.url, key, version=version)
        for method, every in requests_against(rows).items():
            for params in every:
                response = client.post(method, params)
                assert response.status_code < 500, (method, params, response.text)
                yield f"{method} {json.dumps(params)}", response.text


def test_another_tenant_sees_and_changes_nothing(uvicorn_server: Server, cast: Cast) -> None:
    rows = plant(cast)
    _, key = create_api_key(tenant=cast.globex, user=cast.mallory, name="mcp")
    for tool in ("search_docs", "get_customer", "list_alarms"):
        cast.globex.tool_settings.create(tool=tool, policy="on")
    before = rows_of(cast.acme)
    assert [door for door, body in answers(uvicorn_server, key, rows) if CANARY in body] == []
    assert rows_of(cast.acme) == before


def test_the_owner_sees_the_rows(uvicorn_server: Server, cast: Cast) -> None:
    rows = plant(cast)
    _, key = create_api_key(tenant=cast.acme, user=cast.alice, name="mcp")
    shown = {door.split()[0] for door, body in answers(uvicorn_server, key, rows) if CANARY in body}
    assert shown >= {"prompts/list", "prompts/get", "resources/list", "resources/read"}


def test_a_planted_leak_is_found(cast: Cast) -> None:
    rows = plant(cast)
    _, key = create_api_key(tenant=cast.globex, user=cast.mallory, name="mcp")
    with serve(application="tests.isolation.sites.leaky_asgi:application") as leaky:
        assert any(CANARY in body for _, body in answers(leaky, key, rows))


def test_the_debug_log_holds_no_responses(cast: Cast) -> None:
    _, key = create_api_key(tenant=cast.acme, user=cast.alice, name="mcp")
    with serve(env={"LOG_LEVEL": "DEBUG"}) as server:
        for version in (MODERN, OLDER):
            client = Client(server.url, key, version=version)
            assert "You are Acme" in client.post("prompts/get", {"name": "support"}).text
        server.stop()
        assert "/mcp/" in server.log and "You are Acme" not in server.log

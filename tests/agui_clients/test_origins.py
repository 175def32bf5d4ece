"""Pages of a tenant's own site talk to the AG-UI door as their end users, and no other page does."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from assistant.models import Assistant, Provider
from tests.agui import text_of
from tests.agui_clients.door import RUNS, Talk
from tests.base import Cast
from tests.contrib.end_users.minting import SHOP, allow, backend, token_for
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db
from tests.ws import run_input

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
ALLOW = "Access-Control-Allow-Origin"
EVIL = "https://evil.example.com"


@pytest.fixture
def token(cast: Cast) -> str:
    allow(cast.support)
    return token_for(backend(cast), "customer-1")


def page(server: Server, token: str, origin: str = SHOP) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Origin": origin}
    return httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=30)


async def test_a_page_of_an_allowed_origin_talks_as_its_visitor(
    uvicorn_server: Server, cast: Cast, token: str, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Welcome.")
    async with page(uvicorn_server, token) as client:
        asked = await client.options(RUNS.format(tenant="acme"), headers=ASKED)
        assert (asked.status_code, asked.headers[ALLOW]) == (204, SHOP)
        assert {"authorization", "content-type"} <= set(
            asked.headers["Access-Control-Allow-Headers"].lower().split(", ")
        )
        answer = await client.post(RUNS.format(tenant="acme"), json=run_input("Hi", thread="main", run="r1"))
        assert answer.headers[ALLOW] == SHOP and "Origin" in answer.headers["Vary"]
        again = await client.get("/api/v1/tenants/acme/runs/r1/events/", headers={"Last-Event-ID": "1"})
        assert again.headers[ALLOW] == SHOP and "Welcome." in again.text
        stopped = await client.post("/api/v1/tenants/acme/runs/r1/cancel/", json={})
        assert (stopped.status_code, stopped.headers[ALLOW]) == (202, SHOP)
        other = await client.post(RUNS.format(tenant="acme").replace("support", "sales"), json=run_input("Hi"))
        assert (other.status_code, other.headers[ALLOW]) == (404, SHOP)


async def test_no_other_page_does(uvicorn_server: Server, cast: Cast, token: str, provider: Provider) -> None:
    async with page(uvicorn_server, token, EVIL) as client:
        asked = await client.options(RUNS.format(tenant="acme"), headers=ASKED)
        answer = await client.post(RUNS.format(tenant="acme"), json=run_input("Hi"))
    assert (asked.status_code, answer.status_code) == (404, 401)
    assert ALLOW not in asked.headers and ALLOW not in answer.headers
    async with page(uvicorn_server, token) as client:
        for path in ("globex", "unknown"):
            asked = await client.options(RUNS.format(tenant=path), headers=ASKED)
            answer = await client.post(RUNS.format(tenant=path), json=run_input("Hi"))
            assert (asked.status_code, answer.status_code) == (404, 401)
        expired = await client.post(RUNS.format(tenant="acme"), json={}, headers={"Authorization": "Bearer eut_wrong"})
        assert (expired.status_code, expired.headers[ALLOW]) == (401, SHOP)  # the page may read why


async def test_a_token_is_for_one_assistant(uvicorn_server: Server, cast: Cast, token: str, provider: Provider) -> None:
    await Assistant.objects.acreate(tenant=cast.acme, slug="sales", name="Sales")
    async with page(uvicorn_server, token) as client:
        answer = await client.post(RUNS.format(tenant="acme").replace("support", "sales"), json=run_input("Hi"))
    assert answer.status_code == 404


async def test_visitors_do_not_see_each_other(
    uvicorn_server: Server, cast: Cast, token: str, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("For the first.")
    other = await in_db(token_for)(await in_db(backend)(cast), "customer-2")
    async with page(uvicorn_server, token) as first, page(uvicorn_server, other) as second:
        assert text_of(await Talk(first, "acme", "main").ask("Hi", run="r1")) == "For the first."
        seen = await second.get("/api/v1/tenants/acme/runs/r1/events/")
        stopped = await second.post("/api/v1/tenants/acme/runs/r1/cancel/", json={})
        assert (seen.status_code, stopped.status_code) == (404, 404)
        fake_provider.reply("For the second.")
        assert text_of(await Talk(second, "acme", "main").ask("Hi", run="r1")) == "For the second."

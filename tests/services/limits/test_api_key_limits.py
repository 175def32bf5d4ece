"""Limits of API keys: every door refuses requests above one in its own format, with the time when it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from io import StringIO

import httpx2
import openai
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from assistant.contrib.webhooks.models import WebhookDelivery
from assistant.models import ApiKey, ApiKeyUse, Provider
from assistant.services.limits.api_key_requests import TooManyRequests, count_request
from assistant.services.tenancy.members import create_api_key, member_by_key
from tests.base import Cast
from tests.contrib.end_users.minting import allow, backend, token_for, visit
from tests.contrib.webhooks.hooks import hook
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.mcp.talking import Client as McpClient
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)


def limited(cast: Cast, **limits: int) -> str:
    """A key of Alice's."""
    return create_api_key(tenant=cast.acme, user=cast.alice, name="limited", **limits)[1]  # type: ignore[arg-type]


def exhausted_key(cast: Cast) -> str:
    """A key that has used up its requests of today."""
    key = limited(cast, requests_per_day=3)
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    row = ApiKey.objects.get(name="limited")
    ApiKeyUse.objects.create(key=row, minute_at=today, minute_count=1, day_at=today, day_count=3)
    return key


def use_key(key: str) -> str:
    """Count a request with the key; return "ok", or the window whose limit refused it."""
    member = member_by_key(key=key)
    assert member is not None
    try:
        count_request(member=member)
    except TooManyRequests as exc:
        return "day" if "a day" in str(exc) else "minute"
    return "ok"


def test_requests_above_the_minutes_limit_are_refused_until_the_next_minute(cast: Cast) -> None:
    key = limited(cast, requests_per_minute=2)
    row, outcome = ApiKey.objects.get(), ""
    minute = timezone.now() - timedelta(days=1)
    # Repeated if the minute ends meanwhile.
    while not outcome or timezone.now() >= minute + timedelta(minutes=1):
        minute = timezone.now().replace(second=0, microsecond=0)
        full = {"minute_at": minute, "minute_count": 2, "day_at": minute.replace(hour=0, minute=0), "day_count": 2}
        ApiKeyUse.objects.update_or_create(key=row, defaults=full)
        outcome = use_key(key)
    assert outcome == "minute"
    ApiKeyUse.objects.update(minute_at=minute - timedelta(minutes=1))
    assert use_key(key) == "ok"
    assert ApiKeyUse.objects.get().minute_count == 1


def test_requests_above_the_days_limit_are_refused_until_midnight(cast: Cast) -> None:
    key = exhausted_key(cast)
    assert use_key(key) == "day"
    ApiKeyUse.objects.update(day_at=timezone.now() - timedelta(days=2))
    assert use_key(key) == "ok"
    assert ApiKeyUse.objects.get().day_count == 1


def test_a_key_without_limits_is_not_counted(cast: Cast) -> None:
    assert {use_key(limited(cast)) for _ in range(3)} == {"ok"}
    assert not ApiKeyUse.objects.exists()


def test_exactly_the_limit_of_simultaneous_requests_is_admitted(cast: Cast) -> None:
    key = limited(cast, requests_per_day=20)

    def attempt(_: int) -> str:
        try:
            return use_key(key)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(attempt, range(60)))
    assert outcomes.count("ok") == 20


def test_a_reached_limit_is_recorded_for_webhooks_once(cast: Cast) -> None:
    hook(cast.acme, "https://hooks.example.com/")
    key = exhausted_key(cast)
    assert [use_key(key), use_key(key)] == ["day", "day"]
    data = json.loads(WebhookDelivery.objects.get().body)["data"]
    assert (data["quota"], data["limit"], data["api_key"]) == ("requests_per_day", 3, key[:10])
    assert parse_datetime(data["resets_at"]) > timezone.now()


Ask = Callable[[str, str], httpx2.Response]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


DOORS: dict[str, Ask] = {
    "REST": lambda url, key: httpx2.get(f"{url}/api/v1/tenants/acme/conversations/", headers=bearer(key)),
    "SSE": lambda url, key: httpx2.post(
        f"{url}/api/v1/tenants/acme/assistants/support/runs/", headers=bearer(key), json=run_input("Hello")
    ),
    "/v1": lambda url, key: httpx2.post(
        f"{url}/v1/chat/completions", headers=bearer(key), json={"model": "support", "messages": []}
    ),
    "MCP": lambda url, key: McpClient(url, key).post("tools/list"),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_in_its_own_format(door: str, uvicorn_server: Server, cast: Cast) -> None:
    answer = DOORS[door](uvicorn_server.url, exhausted_key(cast))
    assert answer.status_code == 429
    body = answer.json()
    error = body["error"] if door == "/v1" else body
    assert error["code"] == ("rate_limit_exceeded" if door == "/v1" else "too_many_requests")
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    assert f"{midnight:%Y-%m-%dT%H:%M:%SZ}" in error["message"]
    assert 0 < int(answer.headers["Retry-After"]) <= 86_400
    if door == "/v1":
        assert error["type"] == "rate_limit_error"
        with pytest.raises(openai.RateLimitError):
            openai.OpenAI(base_url=f"{uvicorn_server.url}/v1", api_key=used_again(cast), max_retries=0).models.list()


def used_again(cast: Cast) -> str:
    ApiKey.objects.all().delete()
    return exhausted_key(cast)


async def test_a_run_over_the_websocket_is_refused_with_a_typed_error(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    key = await in_db(limited)(cast)
    async with open_socket(uvicorn_server.url, key=key) as socket:
        assert (await socket.ask("Hello"))[-1]["type"] == "RUN_FINISHED"
        # A limit applies to connections that were opened before it was set.
        await in_db(ApiKey.objects.update)(requests_per_day=1)
        assert (await socket.ask("Hello"))[-1]["type"] == "RUN_FINISHED"
        await socket.send(given := run_input("Hello"))
        refusal = (await socket.until_end(given["runId"]))[-1]
        assert (refusal["type"], refusal["code"]) == ("RUN_ERROR", "quota_exceeded")
        assert "1 requests a day" in refusal["message"]
        await socket.send({"type": "ping"})
        await socket.until_custom("pong")
    assert len(fake_provider.requests) == 2


async def test_end_users_do_not_use_up_the_key_that_minted_their_tokens(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    def mint() -> str:
        allow(cast.support)
        shop = backend(cast)
        ApiKey.objects.update(requests_per_day=1)
        return token_for(shop, "c-1")

    async with visit(uvicorn_server.url, await in_db(mint)()) as socket:
        for _ in range(2):
            assert (await socket.ask("Hello"))[-1]["type"] == "RUN_FINISHED"


def test_the_command_sets_limits(cast: Cast) -> None:
    call_command(
        "assistant_create_api_key", "acme", "alice", "--per-minute", "60", "--per-day", "1000", stdout=StringIO()
    )
    row = ApiKey.objects.get()
    assert (row.requests_per_minute, row.requests_per_day) == (60, 1000)
    with pytest.raises(CommandError, match="--per-day takes 1"):
        call_command("assistant_create_api_key", "acme", "alice", "--per-day", "0")

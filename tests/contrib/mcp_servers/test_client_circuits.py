"""The circuit breaker of failing servers: for which members, after how many failures, and until when."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from assistant.contrib.mcp_servers.models import McpCredential, McpServer
from assistant.contrib.mcp_servers.services import calls
from assistant.contrib.mcp_servers.services.calls import session_pool
from assistant.contrib.mcp_servers.services.circuit_breaker import MAX_FAILURES
from assistant.mcp_client import RemoteFailure, session
from tests.base import Cast
from tests.contrib.mcp_servers.allowing import add_server, allow, look
from tests.contrib.mcp_servers.test_client_tenants import call, context_of, tools_of
from tests.mcp.outside import Outside, outside

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def _development(settings: Settings) -> AsyncIterator[None]:
    settings.DEBUG = True  # the external server is on the machine itself
    yield
    await session_pool().close()


async def own_server(cast: Cast, outsider: Outside) -> McpServer:
    """One that Alice and Amy ask with credentials of their own; `echo` is allowed."""
    server = await add_server(cast.acme, outsider, credentials_of="user")
    for user in (cast.alice, cast.amy):
        headers = json.dumps({"Authorization": user.username})
        await McpCredential.objects.acreate(server=server, user=user, headers=headers)
    await look(server, cast.amy.pk)
    await allow(server, "echo")
    return server


async def failing_call(cast: Cast, user: Any = None) -> str:
    """The kind of failure that a call ends in."""
    with pytest.raises(RemoteFailure) as caught:
        await call(cast, "crm__echo", {"text": "hi"}, user)
    return caught.value.kind


async def rule(cast: Cast, user: Any = None) -> str:
    return (await tools_of(cast, user))["crm__echo"].rule


async def rested(rows: Any) -> None:
    """Let the open circuit's time pass."""
    await rows.aupdate(rests_until=timezone.now() - timedelta(seconds=1))


async def test_one_members_failures_do_not_affect_others(cast: Cast, outsider: Outside) -> None:
    server = await own_server(cast, outsider)
    outsider.be(failing=["alice"])
    assert [await failing_call(cast) for _ in range(MAX_FAILURES)] == ["failing"] * MAX_FAILURES
    assert await rule(cast) == "The server crm does not answer to the user's credentials."
    assert (await call(cast, "crm__echo", {"text": "hi"}, cast.amy)).content == "hi"
    await server.arefresh_from_db()
    assert (server.health, server.failures, server.rests_until) == ("up", 0, None)


async def test_quick_failures_are_counted_first(cast: Cast, outsider: Outside) -> None:
    server = await add_server(cast.acme, outsider)
    await look(server)
    await allow(server, "echo")
    outsider.be(failing=[""])
    for _ in range(MAX_FAILURES - 1):
        assert await failing_call(cast) == "failing"
    assert (await tools_of(cast))["crm__echo"].policy == "on"
    assert await failing_call(cast) == "failing"
    assert await rule(cast) == "The server crm does not answer."
    await server.arefresh_from_db()
    assert server.health == "down" and server.health_detail.endswith("(HTTP 503 Service Unavailable; it said: busy)")


async def test_after_a_rest_one_more_failure_is_enough_and_one_answer_too(cast: Cast, outsider: Outside) -> None:
    await own_server(cast, outsider)
    alices = McpCredential.objects.filter(user=cast.alice)
    outsider.be(failing=["alice"])
    for _ in range(MAX_FAILURES):
        await failing_call(cast)
    await rested(alices)
    assert await failing_call(cast) == "failing"
    assert "does not answer" in await rule(cast)
    await rested(alices)
    outsider.be(failing=[])
    assert (await call(cast, "crm__echo", {"text": "hi"})).content == "hi"
    assert await alices.values_list("failures", "rests_until").aget() == (0, None)


async def test_an_unreachable_server_is_unreachable_for_all_members(cast: Cast, outsider: Outside) -> None:
    server = await own_server(cast, outsider)
    await McpServer.objects.filter(pk=server.pk).aupdate(url="http://127.0.0.1:9/mcp")
    assert await failing_call(cast) == "unreachable"
    assert await rule(cast, cast.amy) == "The server crm does not answer."


async def test_refused_credentials_open_no_circuit(cast: Cast, outsider: Outside) -> None:
    await own_server(cast, outsider)
    outsider.be(token="right")
    assert [await failing_call(cast) for _ in range(MAX_FAILURES + 1)] == ["unauthorized"] * (MAX_FAILURES + 1)
    assert await McpCredential.objects.filter(failures=0, rests_until=None).acount() == 2


@pytest.mark.parametrize("is_older", [False, True])
async def test_a_server_that_hangs_on_an_open_session_is_not_called(
    is_older: bool, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    with outside() as hanging:
        hanging.be(is_older=is_older)
        await look(server := await add_server(cast.acme, hanging))
        await allow(server, "echo")
        assert (await call(cast, "crm__echo", {"text": "hi"})).content == "hi"
        hanging.process.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(session, "OPEN_SECONDS", 0.5)
        monkeypatch.setattr(calls, "LISTING_SECONDS", -1.0)
        assert await failing_call(cast) == "timeout"
        assert await rule(cast) == "The server crm does not answer."
        assert len(session_pool()) == 0


async def test_a_call_that_is_given_up_leaves_the_next_one_to_find_out_why(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if that is given up, too, before the server's time is up."""
    with outside() as hanging:
        await look(server := await add_server(cast.acme, hanging))
        await allow(server, "echo")
        assert (await call(cast, "crm__echo", {"text": "hi"})).content == "hi"
        hanging.process.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(session, "OPEN_SECONDS", 0.5)
        async with asyncio.timeout(15):
            while (entry := (await tools_of(cast))["crm__echo"]).policy != "off":
                with suppress(TimeoutError, RemoteFailure):
                    await asyncio.wait_for(entry.tool.call({"text": "hi"}, context_of(cast)), 0.3)
        await server.arefresh_from_db()
        assert (server.health, len(session_pool())) == ("down", 0)

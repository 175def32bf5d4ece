"""A tool is always called for the authenticated tenant and user, whatever a request or a model contains.

Half of the calls let the tool run and report its context; the others are refused because of their arguments.
CONTEXT_TRIES is the number of calls; `make resilience` sets 1,000.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from django.db.models.functions import Coalesce

from assistant.models import Provider, ToolCall
from assistant.services.tenancy.members import create_api_key
from tests.agui import Frame
from tests.base import Cast
from tests.factories import make_assistant, make_conversation, switch_tool
from tests.fake_provider import FakeProvider
from tests.isolation.planting import CANARY
from tests.live import Server, serve
from tests.mcp.talking import MODERN, OLDER, Client
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket, run_input

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]

CALLS = 20
TRIES = int(os.environ.get("CONTEXT_TRIES", "200"))
# Interceptors that break the site on purpose, to show that the test finds it.
INTERCEPTORS = os.environ.get("CONTEXT_INTERCEPTORS", "")
NAMES = (
    "tenant", "tenant_id", "tenantId", "tenant_slug", "user", "user_id", "userId", "username", "context",
    "tool_context",
    "toolContext", "ToolContext", "extra", "secrets", "config", "_meta", "meta", "self", "ctx", "run_id", "thread_id",
    "assistant", "idempotency_key", "deadline", "__context__", "note", "current_context", "state", "forwardedProps",
)  # fmt: skip
HEADERS = (
    "X-Tenant",
    "X-Tenant-Id",
    "X-User",
    "X-Forwarded-User",
    "Remote-User",
    "X-Assistant-Context",
    "Mcp-Param-Tenant",
)
# Over MCP the context has the caller and nothing else.
EXTRA = {"MCP": '["mcp_caller"]'}


class Noise:
    """Values that name Acme and Alice, under names that look like fields."""

    def __init__(self, cast: Cast, seed: int) -> None:
        self._random = random.Random(seed)
        self._values: list[Any] = [
            "acme", cast.acme.pk, str(cast.acme.pk), cast.alice.pk, "alice", {"slug": "acme", "id": cast.acme.pk},
            {"tenant": {"slug": "acme"}, "user": {"username": "alice"}}, ["acme"], CANARY, None, True,
        ]  # fmt: skip

    def fields(self, *without: str) -> dict[str, Any]:
        names = self._random.sample(NAMES, self._random.randint(1, 4))
        return {name: self._random.choice(self._values) for name in names if name not in without}

    def arguments(self, number: int) -> dict[str, Any]:
        """Return the arguments of a call. Every other call may run, with the same values where they are valid."""
        return self.fields() if number % 2 else {"note": json.dumps({"tenant": "acme", **self.fields()})}

    def frame(self, number: int) -> Frame:
        return {
            **run_input(f"Try {number}", context=[{"description": "tenant", "value": "acme"}]),
            **self.fields("state", "forwardedProps", "context"),
            "state": self.fields(),
            "forwardedProps": self.fields(),
        }

    def headers(self) -> dict[str, str]:
        return {name: str(self._random.choice(self._values[:5])) for name in HEADERS}


class Door:
    """What every door needs: the server, Mallory's key, and a model whose calls have `Noise` as arguments."""

    def __init__(self, server: Server, cast: Cast, key: str, provider: FakeProvider) -> None:
        self.server, self.cast, self.key, self.provider = server, cast, key, provider
        self.noise = Noise(cast, 1)
        self.http = httpx2.AsyncClient(
            base_url=f"{server.url}/api/v1/tenants/globex/", headers={"Authorization": f"Bearer {key}"}, timeout=60
        )

    def model_calls(self) -> None:
        calls = [("who_am_i", self.noise.arguments(number)) for number in range(CALLS)]
        self.provider.calls(calls)
        self.provider.reply("Done.")

    async def post(self, path: str, body: Any) -> httpx2.Response:
        answer = await self.http.post(path, json=body, headers=self.noise.headers())
        assert answer.status_code < 300, answer.text
        return answer


async def by_websocket(door: Door, number: int) -> None:
    door.model_calls()
    async with open_socket(door.server.url, tenant="globex", key=door.key, headers=door.noise.headers()) as mallory:
        frame = door.noise.frame(number)
        await mallory.send(frame)
        ending = (await mallory.until_end(frame["runId"], 60))[-1]
        assert ending["type"] == "RUN_FINISHED", ending


async def by_sse(door: Door, number: int) -> None:
    door.model_calls()
    answer = await door.post("assistants/support/runs/", door.noise.frame(number))
    assert "RUN_FINISHED" in answer.text


async def by_rest(door: Door, number: int) -> None:
    door.model_calls()
    talk = await in_db(make_conversation)(door.cast.mallory, door.cast.rival_support)
    body = {"message": f"Try {number}", **door.noise.fields("idempotency_key")}
    await door.post(f"conversations/{talk.pk}/runs/?tenant=acme&user_id={door.cast.alice.pk}", body)


async def by_approval(door: Door, number: int) -> None:
    """Calls that a person approves with edited arguments."""
    door.provider.calls([("who_am_i", {"note": f"Call {index}"}) for index in range(CALLS)])
    door.provider.reply("Done.")
    talk = await in_db(make_conversation)(door.cast.mallory, await door.cast.globex.assistants.aget(slug="careful"))
    asked = (await door.post(f"conversations/{talk.pk}/runs/", {"message": f"Try {number}"})).json()
    waiting = ToolCall.objects.filter(run__run_id=asked["id"]).values_list("call_id", flat=True)
    decisions = [
        {"call_id": call, "approved": True, "edited_arguments": door.noise.arguments(2 * index)}
        async for index, call in _numbered(waiting)
    ]
    address, headers = f"runs/{asked['id']}/approvals/", door.noise.headers()
    noisy = {"decisions": [{**one, **door.noise.fields()} for one in decisions]}
    assert (await door.http.post(address, json=noisy, headers=headers)).status_code == 400
    await door.post(address, {"decisions": decisions})


async def _numbered(rows: Any) -> Any:
    number = 0
    async for row in rows:
        yield number, row
        number += 1


async def by_chat_completions(door: Door, number: int) -> None:
    door.model_calls()
    body = {
        "model": "support",
        "messages": [{"role": "user", "content": f"Try {number}"}],
        "user": "alice",
        "metadata": {"tenant": "acme", "user_id": str(door.cast.alice.pk)},
    }
    await door.post(f"{door.server.url}/v1/chat/completions", body)


async def by_mcp(door: Door, number: int) -> None:
    for index in range(CALLS):
        client = Client(door.server.url, door.key, version=MODERN if index % 4 < 2 else OLDER)
        params = {"name": "who_am_i", "arguments": door.noise.arguments(index), "_meta": door.noise.fields("_meta")}
        await in_db(client.post)("tools/call", params, **door.noise.headers())


DOORS: dict[str, Callable[[Door, int], Any]] = {
    "websocket": by_websocket, "SSE": by_sse, "REST": by_rest, "approvals": by_approval,
    "/v1": by_chat_completions, "MCP": by_mcp,
}  # fmt: skip


def told(result: str) -> tuple[str, ...] | None:
    """Return tenant, user, extra and secret of a call that ran; None for one that was refused."""
    # A note on edited arguments precedes it.
    *_, last = result.splitlines() or [""]
    if not last.startswith("{"):
        return None
    one = json.loads(last)
    return one["tenant"], one["username"], json.dumps(one["extra"]), one["secret"]


def prepare(cast: Cast) -> str:
    """Switch the tool on for Globex, give both tenants a secret for it, and return Mallory's key."""
    make_assistant(cast.globex, "careful", prompt="Ask.")
    careful = cast.globex.assistants.get(slug="careful")
    for tenant, secret in ((cast.acme, CANARY), (cast.globex, "theirs")):
        cast_setting = switch_tool(tenant, "who_am_i")
        cast_setting.secrets = json.dumps({"token": secret})
        cast_setting.save()
    switch_tool(cast.globex, "who_am_i", "ask", assistant=careful)
    return create_api_key(tenant=cast.globex, user=cast.mallory, name="hers")[1]


async def tries(server: Server, cast: Cast, provider: FakeProvider, wanted: int) -> tuple[Counter[str], list[str]]:
    """Make `wanted` calls, spread over the doors. Return how many ran by door, and those with a wrong context."""
    door = Door(server, cast, await in_db(prepare)(cast), provider)
    ran: Counter[str] = Counter()
    wrong: list[str] = []
    seen: set[int] = set()
    number = 0
    async with door.http:
        while len(seen) < wanted:
            name, way = list(DOORS.items())[number % len(DOORS)]
            await way(door, number)
            number += 1
            rows = ToolCall.objects.filter(name="who_am_i").exclude(pk__in=seen)
            rows = rows.exclude(status=ToolCall.Status.AWAITING_APPROVAL)
            # A call without a run has a user of its own.
            whom = Coalesce("run__user__username", "user__username")
            async for row in rows.values_list("pk", "tenant__slug", whom, "result"):
                seen.add(row[0])
                whose = told(row[3])
                ran[name] += whose is not None
                ran["refused"] += whose is None
                own = ("globex", "mallory", EXTRA.get(name, "[]"), "theirs")
                if row[1:3] != own[:2] or whose not in (None, own):
                    wrong.append(f"{name}: {row[1:]}")
    return ran, wrong


async def test_no_input_changes_the_tool_context(cast: Cast, provider: Provider, fake_provider: FakeProvider) -> None:
    env = {"DJANGO_SETTINGS_MODULE": "tests.mcp.settings_served", "ASSISTANT_TOOL_INTERCEPTORS": INTERCEPTORS}
    with serve(env=env) as server:
        ran, wrong = await tries(server, cast, fake_provider, TRIES)
    print(f"\ncontext: {ran.total()} tries, {len(wrong)} moved; of those let run {dict(ran)}")
    assert wrong == []
    assert all(ran[name] for name in DOORS), ran
    assert ran["refused"] <= ran.total() / 2


async def test_a_site_that_trusts_the_arguments_is_found(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    env = {
        "DJANGO_SETTINGS_MODULE": "tests.mcp.settings_served",
        "ASSISTANT_TOOL_INTERCEPTORS": "tests.isolation.careless.believe",
    }
    with serve(env=env) as server:
        _, wrong = await tries(server, cast, fake_provider, CALLS * len(DOORS))
    assert {one.split(":")[0] for one in wrong} == set(DOORS)

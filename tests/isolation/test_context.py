"""Whoever calls a tool works for the tenant and the user that the program knows, whatever anybody writes anywhere."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from assistant.models import Provider, ToolCall
from assistant.services.members import create_api_key
from tests.agui import Frame
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.isolation.planting import CANARY
from tests.live import Server, serve
from tests.ws import open_socket, run_input

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

CALLS = 40
TRIES = int(os.environ.get("CONTEXT_TRIES", "200"))
NAMES = (
    "tenant", "tenant_id", "tenantId", "tenant_slug", "user", "user_id", "userId", "username", "context",
    "tool_context",
    "toolContext", "ToolContext", "extra", "secrets", "config", "_meta", "meta", "self", "ctx", "run_id", "thread_id",
    "assistant", "idempotency_key", "deadline", "__context__", "note", "current_context", "state", "forwardedProps",
)  # fmt: skip
HEADERS = ("X-Tenant", "X-Tenant-Id", "X-User", "X-Forwarded-User", "Remote-User", "X-Assistant-Context")


@pytest.fixture
def served(transactional_db: None) -> Any:
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.mcp.settings_served"}) as server:
        yield server


class Noise:
    """Values that name Acme and Alice, under names that look like fields."""

    def __init__(self, cast: Cast, seed: int) -> None:
        self._random = random.Random(seed)
        self._values: list[Any] = [
            "acme", cast.acme.pk, str(cast.acme.pk), cast.alice.pk, "alice", {"slug": "acme", "id": cast.acme.pk},
            {"tenant": {"slug": "acme"}, "user": {"username": "alice"}}, ["acme"], CANARY, None, True,
        ]  # fmt: skip

    def fields(self) -> dict[str, Any]:
        return {
            name: self._random.choice(self._values) for name in self._random.sample(NAMES, self._random.randint(1, 4))
        }

    def frame(self, number: int) -> Frame:
        noise = self.fields()
        return {
            **run_input(f"Try {number}", context=[{"description": "tenant", "value": "acme"}]),
            **{name: value for name, value in noise.items() if name not in {"state", "forwardedProps", "context"}},
            "state": self.fields(),
            "forwardedProps": self.fields(),
        }

    def headers(self) -> dict[str, str]:
        return {name: str(self._random.choice(self._values[:5])) for name in HEADERS}


def whose(results: list[str]) -> set[tuple[str, str, str]]:
    """Tenant, user and extra of each call that was let run."""
    ran = [json.loads(text) for text in results if text.startswith("{")]
    return {(one["tenant"], one["username"], json.dumps(one["extra"])) for one in ran}


async def test_nothing_that_is_written_moves_the_context(
    served: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    key = (await sync_to_async(create_api_key)(tenant=cast.globex, user=cast.mallory, name="hers"))[1]
    noise, done = Noise(cast, 1), 0
    await cast.rival_support.tool_settings.acreate(tenant=cast.globex, tool="who_am_i", policy="on")
    async with open_socket(served.url, tenant="globex", key=key, headers=noise.headers()) as mallory:
        while done < TRIES:
            harmless = [{"note": json.dumps(noise.fields())} for _ in range(CALLS // 2)]
            calls = [*harmless, *(noise.fields() for _ in range(CALLS // 2))]
            fake_provider.calls([("who_am_i", arguments) for arguments in calls])
            fake_provider.reply("Done.")
            frame = noise.frame(done)
            await mallory.send(frame)
            assert (await mallory.until_end(frame["runId"]))[-1]["type"] == "RUN_FINISHED"
            done += CALLS
    stored = [call async for call in ToolCall.objects.filter(name="who_am_i").values_list("tenant__slug", "result")]
    assert len(stored) >= TRIES and {tenant for tenant, _ in stored} == {"globex"}
    results = [result for _, result in stored]
    assert whose(results) == {("globex", "mallory", "[]")}
    refused = [text for text in results if not text.startswith("{")]
    assert len(refused) <= len(results) // 2, "half of them are let run"
    print(f"\ncontext: {len(stored)} tries, 0 moved; {len(refused)} were refused")


def test_a_moved_context_would_be_seen() -> None:
    moved = json.dumps({"tenant": "acme", "username": "mallory", "extra": []})
    assert whose([moved]) != {("globex", "mallory", "[]")}

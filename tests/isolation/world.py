"""Two tenants with rows of every model, one of them with canaries in each, and the callers who try the doors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from assistant.contrib.mcp_servers.services.calls import session_pool
from assistant.contrib.webhooks.models import Webhook
from assistant.models import TenantLimits
from assistant.models.limits import OF_MEMBER, OF_TENANT
from tests.base import Cast
from tests.contrib.mcp_servers.allowing import add_server, allow, look
from tests.contrib.webhooks.hooks import hook
from tests.contrib.webhooks.receiver import Receiver
from tests.factories import make_provider
from tests.fake_provider import FakeProvider
from tests.isolation.callers import Caller, callers
from tests.isolation.planting import CANARY, plant
from tests.isolation.tries import OUTSIDE, make_personal
from tests.isolation.trying import obeying
from tests.mcp.outside import Outside, outside

TOOLS = (
    "find_customers", "get_customer", "update_customer", "find_orders", "get_order", "search_docs", "read_document",
    "search_collections",
    "list_alarms", "cancel_alarm", "set_alarm", "list_schedules", "delete_scheduled_question", "schedule_question",
)  # fmt: skip

SITE = {"DJANGO_SETTINGS_MODULE": "tests.isolation.settings"}


@dataclass
class World:
    """Two tenants with a provider, an external MCP server and a receiver of webhooks, and Acme's planted rows."""

    cast: Cast
    rows: Any
    everybody: list[Caller]
    theirs: FakeProvider
    ours: FakeProvider
    outsider: Outside
    receiver: Receiver

    def callers(self, *, rivals: bool) -> list[Caller]:
        """The callers, in the order of their turns."""
        return [one for one in self.everybody if one.is_rival is rivals for _ in range(one.turns)]


@contextmanager
def open_world(cast: Cast) -> Iterator[World]:
    """Run the servers that the tests need until the end of the block, and yield the world."""
    rows = plant(cast)
    make_personal(rows)
    with ExitStack() as stack:
        ours, theirs, receiver = (stack.enter_context(one) for one in (FakeProvider(), FakeProvider(), Receiver()))
        outsider = stack.enter_context(outside())
        for tenant, provider in ((cast.acme, ours), (cast.globex, theirs)):
            provider.rule(obeying)
            tenant.default_provider = make_provider(tenant, base_url=provider.url)
            tenant.save(update_fields=["default_provider"])
            for name in TOOLS:
                tenant.tool_settings.update_or_create(tool=name, assistant=None, defaults={"policy": "on"})
        # The planted limits would admit nobody of Acme; 0 is no limit.
        TenantLimits.objects.filter(tenant=cast.acme).update(**dict.fromkeys((*OF_TENANT, *OF_MEMBER), 0))
        # Acme's webhooks are off, so that only Globex's receiver gets events.
        Webhook.objects.filter(tenant=cast.acme).update(is_active=False)
        hook(cast.globex, receiver.url)
        asyncio.run(_connect(cast, outsider))
        yield World(cast, rows, callers(cast), theirs, ours, outsider, receiver)


async def _connect(cast: Cast, outsider: Outside) -> None:
    """Give both tenants an external server; Acme's gets a secret, which the server would repeat."""
    secret = {cast.acme.pk: f"Bearer {CANARY}", cast.globex.pk: "Bearer theirs"}
    for tenant in (cast.acme, cast.globex):
        headers = json.dumps({"Authorization": secret[tenant.pk]})
        server = await add_server(tenant, outsider, name=OUTSIDE, prefix=OUTSIDE, headers=headers)
        assert (await look(server)).is_healthy
        await allow(server, "echo", "whoami")
    await session_pool().close()

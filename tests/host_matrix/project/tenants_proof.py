"""Two schemas on one pooled thread: no tool sees what the one before it, of another firm, has left set."""

import asyncio

import django

django.setup()

from django.db import connection  # noqa: E402

from assistant.models import Tenant  # noqa: E402
from assistant.services.toolpolicy.catalogue import registry  # noqa: E402
from assistant.toolkit import TenantInfo, ToolContext  # noqa: E402

TOTALS = {"acme": ["10.50"], "globex": ["20.50"]}
contexts = {
    tenant.slug: ToolContext(tenant=TenantInfo(id=tenant.pk, slug=tenant.slug, external_id=tenant.external_id))
    for tenant in Tenant.objects.filter(slug__in=TOTALS)
}


async def call(name, slug):
    result = await registry().get(name).call("", contexts[slug])
    assert result.value["total"] == TOTALS[slug], (name, slug, result.value)
    return result.value.get("thread"), slug


async def take_turns():
    # One after the other: the pool gives each the thread that has just become free.
    served = {await call("wander", slug) for _ in range(20) for slug in TOTALS}
    assert any({(thread, slug) for slug in TOTALS} <= served for thread, _ in served), served
    for _ in range(20):
        await asyncio.gather(*(call(name, slug) for slug in TOTALS for name in ("count_invoices", "wander")))


asyncio.run(take_turns())
assert connection.schema_name == "public"
print("done")

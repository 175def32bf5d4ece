"""Remembers which tools a provider refuses, for its page and for all processes."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from assistant.models import Provider
from assistant.providers.tool_adaptation.refused_tools import RefusedTool
from assistant.services import metrics
from assistant.services.db.threads import in_database
from assistant.services.tenancy.row_scope import all_tenants

logger = logging.getLogger(__name__)

# Of one provider, the newest.
MAX_REFUSED = 50
# After so long a refused tool is offered again: providers learn to take more.
KEPT = timedelta(days=30)
_storing: set[asyncio.Task[None]] = set()


def digests_of(provider: Provider) -> frozenset[str]:
    """Return the digests of tools that a provider has refused, and that are not offered to it."""
    return frozenset(digest for digest, one in _entries(provider) if one.get("certain") and _is_fresh(one))


def refusals_of(provider: Provider) -> list[dict[str, Any]]:
    """Return what a provider has refused, the newest first: `tool`, `reason`, `at` and `certain`."""
    return sorted((one for _digest, one in _entries(provider)), key=lambda one: str(one.get("at")), reverse=True)


async def on_refused_tool(provider_id: int | None, tenant_id: int | None, provider: str, refused: RefusedTool) -> None:
    """Count a refused tool, and store it later with its provider; one of the environment has no row."""
    metrics.counting().count_refused_tool(provider=provider, tool=refused.name)
    if provider_id is None:
        return
    task = asyncio.create_task(_store_later(provider_id, tenant_id, refused), name="refused-tool")
    _storing.add(task)
    task.add_done_callback(_storing.discard)


async def _store_later(provider_id: int, tenant_id: int | None, refused: RefusedTool) -> None:
    try:
        await in_database(store_refused_tool, provider_id=provider_id, tenant_id=tenant_id, refused=refused)
    except Exception:
        logger.exception("The tool %s, which provider %s refuses, could not be stored", refused.name, provider_id)


@all_tenants()
@transaction.atomic
def store_refused_tool(*, provider_id: int, tenant_id: int | None, refused: RefusedTool) -> None:
    """Store that a provider refuses a tool, at most `MAX_REFUSED` of each provider.

    Args:
        tenant_id: of the provider; None for one of the deployment.
    """
    # The provider may be the deployment's, which tenants cannot write.
    rows = Provider.objects.select_for_update(of=("self",)).filter(pk=provider_id, tenant=tenant_id)
    row = rows.only("pk", "refused_tools").first()
    if row is None:
        return
    entry = {
        "tool": refused.name,
        "reason": refused.reason,
        "at": timezone.now().isoformat(timespec="seconds"),
        "certain": refused.is_certain,
    }
    entries = {**dict(_entries(row)), refused.digest: entry}
    newest = sorted(entries.items(), key=lambda pair: str(pair[1].get("at")), reverse=True)[:MAX_REFUSED]
    row.refused_tools = dict(newest)
    row.save(update_fields=["refused_tools"])


def offer_again(provider: Provider) -> None:
    """Forget what a provider has refused: from the next run on it is offered all tools. The caller saves the row."""
    provider.refused_tools = {}


def _entries(provider: Provider) -> list[tuple[str, dict[str, Any]]]:
    stored = provider.refused_tools
    return [(key, one) for key, one in stored.items() if isinstance(one, dict)] if isinstance(stored, dict) else []


def _is_fresh(entry: dict[str, Any]) -> bool:
    try:
        return timezone.now() - datetime.fromisoformat(str(entry.get("at"))) < KEPT
    except (TypeError, ValueError):
        return False

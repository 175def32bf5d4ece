"""Lists the tools of external MCP servers: on request, and periodically for tenants with runs."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from assistant.contrib.mcp_servers.models import McpServer
from assistant.contrib.mcp_servers.services.calls import listing_handler
from assistant.contrib.mcp_servers.services.circuit_breaker import COOLDOWN, record_failure
from assistant.contrib.mcp_servers.services.servers import connection_of
from assistant.mcp_client import RemoteFailure, connect
from assistant.models import Job
from assistant.services.db.threads import in_database
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import LongWork
from assistant.services.tenancy.row_scope import set_tenants
from assistant.toolkit.context import UserId
from assistant.toolkit.per_loop import PerLoop
from assistant.toolkit.unknown_options import lists_options

if TYPE_CHECKING:
    from assistant.mcp_client.session import RemoteSession

logger = logging.getLogger(__name__)

# An older listing is read again when one of the tenant's runs asks for tools.
MAX_LISTING_AGE = timedelta(minutes=10)
# The shortest time between two checks of a tenant's listings by one process.
CHECK_SECONDS = 30.0
LIST_JOB = "mcp.list"
# How long a process has to list a server before another one tries.
LEASE = timedelta(seconds=90)


@dataclass(frozen=True, slots=True)
class Examination:
    """The result of `examine`: a sentence for the user who asked, and a detail for operators.

    `is_refused` is set if the server refused the credentials.
    """

    is_healthy: bool
    sentence: str
    detail: str = ""
    is_refused: bool = False

    @property
    def full_sentence(self) -> str:
        """The sentence for operators."""
        return f"{self.sentence} ({self.detail})" if self.detail else self.sentence


@lists_options
async def examine(*, tenant_id: int, server_id: int, user_id: UserId, by_operator: bool = True) -> Examination:
    """Connect to a server, list its tools and store them.

    Args:
        user_id: the member whose credentials are used, if each member has their own.
        by_operator: whether an operator asks. Operators may examine inactive servers, and their listing updates the
            definitions of known tools, because they decide on them.
    """
    connection = None
    try:
        connection = await in_database(
            connection_of, tenant_id=tenant_id, server_id=server_id, user_id=user_id, include_inactive=by_operator
        )
        on_tools = listing_handler(connection, by_operator=by_operator)
        opening = connect(connection.endpoint, on_tools=on_tools, asks_people=connection.asks_people)
        async with opening as session:
            sentence = _sentence(session)
    except RemoteFailure as exc:
        # Without a connection the server was not asked, unless its address is refused.
        if connection is not None or exc.kind == "unreachable":
            own = connection.credential_id if connection is not None else None
            await in_database(record_failure, tenant_id=tenant_id, server_id=server_id, failure=exc, credential_id=own)
        return Examination(False, str(exc), exc.detail, is_refused=exc.kind == "unauthorized")
    return Examination(True, sentence)


def _sentence(session: RemoteSession) -> str:
    lists = ngettext(
        "It lists %(count)d tool, over MCP %(version)s.",
        "It lists %(count)d tools, over MCP %(version)s.",
        len(session.tools),
    ) % {"count": len(session.tools), "version": session.protocol_version}
    name = gettext("It calls itself %(name)s.") % {"name": session.server_name} if session.server_name else ""
    listing = session.listing
    unusable = gettext("It also lists what cannot be used: %(names)s.") % {"names": listing.sentence}
    unread = gettext("The rest of its list cannot be read: %(why)s.") % {"why": listing.unread}
    return " ".join(filter(None, (lists, name, unusable if listing.left_out else "", unread if listing.unread else "")))


_checked: PerLoop[dict[int, float]] = PerLoop(dict)
_refreshing: set[asyncio.Task[None]] = set()


def refresh_stale_listings(tenant_id: int) -> None:
    """Start a task that orders the tenant's listings older than `MAX_LISTING_AGE`, at most every `CHECK_SECONDS`."""
    checked, now = _checked.get(), time.monotonic()
    if now - checked.get(tenant_id, -CHECK_SECONDS) >= CHECK_SECONDS:
        checked[tenant_id] = now
        task = asyncio.create_task(_refresh(tenant_id), name=f"mcp-refresh-{tenant_id}")
        _refreshing.add(task)
        task.add_done_callback(_refreshing.discard)


async def _refresh(tenant_id: int) -> None:
    try:
        await in_database(order_listings, tenant_id=tenant_id)
    except Exception:
        logger.exception("The listings of the MCP servers of tenant %s could not be refreshed", tenant_id)


@transaction.atomic
def order_listings(*, tenant_id: int) -> list[int]:
    """Schedule jobs that list the tenant's servers whose listing is stale; return their primary keys.

    Servers with members' own credentials are left out: they are listed when members call them.
    """
    now = timezone.now()
    rows = McpServer.objects.filter(
        tenant_id=tenant_id, is_active=True, credentials_of=McpServer.CredentialOwner.TENANT
    )
    is_due = Q(checked_at=None) | Q(checked_at__lt=now - MAX_LISTING_AGE)
    is_due |= Q(health=McpServer.Health.DOWN, checked_at__lt=now - COOLDOWN)
    ordered = []
    for pk, checked_at in rows.filter(is_due).values_list("pk", "checked_at"):
        same = McpServer.objects.filter(pk=pk, tenant_id=tenant_id, checked_at=checked_at)
        if same.update(checked_at=now):
            jobs.schedule(tenant_id=tenant_id, name=LIST_JOB, key=str(pk), due_at=now)
            ordered.append(pk)
    return ordered


@jobs.handles(LIST_JOB, is_long=True)
def _begin_listing(job: Job) -> LongWork | None:
    if not McpServer.objects.filter(pk=int(job.key), tenant_id=job.tenant_id, is_active=True).exists():
        return None
    return partial(_list, job.tenant_id, int(job.key), jobs.again(job, LEASE).pk)


async def _list(tenant_id: int, server_id: int, job: int) -> None:
    """List a server. The job does not fail if the server cannot be reached, which the server's page shows."""
    set_tenants(tenant_id)
    try:
        connection = await in_database(connection_of, tenant_id=tenant_id, server_id=server_id, user_id=0)
        on_tools = listing_handler(connection)
        # Servers may list other tools to clients that can ask.
        async with connect(connection.endpoint, on_tools=on_tools, asks_people=connection.asks_people):
            pass
    except RemoteFailure as exc:
        await in_database(record_failure, tenant_id=tenant_id, server_id=server_id, failure=exc)
    await in_database(jobs.drop, tenant_id=tenant_id, pk=job)

"""Circuit breakers for external MCP servers: one for each server, and one for each member's own credentials.

A circuit opens after failures, and no requests are made while it is open. After `COOLDOWN` the next request is let
through: a success closes the circuit, a failure opens it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from assistant.contrib.mcp_servers.models import McpCredential, McpServer
from assistant.mcp_client import RemoteFailure

# How long a circuit stays open.
COOLDOWN = timedelta(seconds=60)
# Failures of kinds in `_COUNTED` may concern a single request. They open a circuit only if this many occur in a row.
MAX_FAILURES = 3
_COUNTED = frozenset({"failing", "busy", "ended", "protocol", "too long"})
# The columns of a closed circuit, as of new credentials.
INITIAL_COLUMNS: Mapping[str, Any] = {"failures": 0, "rests_until": None}


@transaction.atomic
def record_failure(*, tenant_id: int, server_id: int, failure: RemoteFailure, credential_id: int | None = None) -> None:
    """Record a failed request to a server.

    Args:
        credential_id: the member's own credentials that were used. The failure then counts only for them, unless the
            server could not be reached at all. None if all members share the server's credentials.
    """
    server = McpServer.objects.select_for_update().filter(pk=server_id, tenant_id=tenant_id).first()
    if server is None or failure.kind == "gone":  # switched off meanwhile
        return
    if credential_id is None or failure.kind == "unreachable":
        _count(server, failure)
        detail = f"{failure} ({failure.detail})" if failure.detail else str(failure)
        _set_health(server, McpServer.Health.DOWN, detail)
    elif failure.kind not in ("unauthorized", "forbidden"):
        own = McpCredential.objects.filter(pk=credential_id, server=server, server__tenant_id=tenant_id).first()
        if own is not None:
            _count(own, failure)
            own.save(update_fields=["failures", "rests_until"])


def _count(circuit: McpServer | McpCredential, failure: RemoteFailure) -> None:
    circuit.failures += 1
    if failure.kind not in _COUNTED or circuit.failures >= MAX_FAILURES:
        circuit.rests_until = timezone.now() + COOLDOWN


def record_success(*, server: McpServer, credential_id: int | None) -> None:
    """Record that a server answered: close its circuit, and that of the credentials that were used."""
    server.failures, server.rests_until = 0, None
    _set_health(server, McpServer.Health.UP, "")
    if credential_id is not None:
        own = McpCredential.objects.filter(pk=credential_id, server=server, server__tenant_id=server.tenant_id)
        own.exclude(failures=0).update(**INITIAL_COLUMNS)


def _set_health(server: McpServer, health: str, detail: str) -> None:
    server.health, server.health_detail, server.checked_at = health, detail[:500], timezone.now()
    server.save(update_fields=["health", "health_detail", "left_out", "checked_at", "failures", "rests_until"])


def is_open(circuit: McpServer | McpCredential) -> bool:
    """Return whether no requests may be made now."""
    return circuit.rests_until is not None and circuit.rests_until > timezone.now()

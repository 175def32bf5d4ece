"""When an outside server is left alone for a while: a circuit breaker for each set of credentials it is asked with.

A circuit opens after failures, and nobody asks while it is open. When its rest is over the next one to ask tries the
server: an answer closes the circuit, one more failure opens it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from assistant.mcp_client import RemoteFailure
from assistant.models import McpCredential, McpServer

# How long nobody asks.
REST = timedelta(seconds=60)
# What is answered at once costs little, and may concern one request alone: it opens a circuit at so many in a row.
FAILURES = 3
_COUNTED = frozenset({"failing", "ended", "protocol", "too long"})
# The columns of a circuit of which nothing is known yet, as of new credentials.
AT_FIRST: Mapping[str, Any] = {"failures": 0, "rests_until": None}


@transaction.atomic
def note_failure(*, tenant_id: int, server_id: int, failure: RemoteFailure, credential_id: int | None = None) -> None:
    """Note that a server could not be asked, and why.

    Args:
        credential_id: with which member's own credentials; what then went wrong is theirs alone, unless the server
            could not be reached at all. None: with those of all.
    """
    server = McpServer.objects.select_for_update().filter(pk=server_id, tenant_id=tenant_id).first()
    if server is None or failure.kind == "gone":  # switched off meanwhile
        return
    if credential_id is None or failure.kind == "unreachable":
        _count(server, failure)
        detail = f"{failure} ({failure.detail})" if failure.detail else str(failure)
        _set_health(server, McpServer.Health.DOWN, detail)
    elif failure.kind != "unauthorized":
        own = McpCredential.objects.filter(pk=credential_id, server=server, server__tenant_id=tenant_id).first()
        if own is not None:
            _count(own, failure)
            own.save(update_fields=["failures", "rests_until"])


def _count(asked: McpServer | McpCredential, failure: RemoteFailure) -> None:
    asked.failures += 1
    if failure.kind not in _COUNTED or asked.failures >= FAILURES:
        asked.rests_until = timezone.now() + REST


def note_answer(*, server: McpServer, credential_id: int | None) -> None:
    """Note that a server has answered: its circuit is closed, and that of these credentials."""
    server.failures, server.rests_until = 0, None
    _set_health(server, McpServer.Health.UP, "")
    if credential_id is not None:
        own = McpCredential.objects.filter(pk=credential_id, server=server, server__tenant_id=server.tenant_id)
        own.exclude(failures=0).update(**AT_FIRST)


def _set_health(server: McpServer, health: str, detail: str) -> None:
    server.health, server.health_detail, server.checked_at = health, detail[:500], timezone.now()
    server.save(update_fields=["health", "health_detail", "checked_at", "failures", "rests_until"])


def is_open(asked: McpServer | McpCredential) -> bool:
    """Whether nobody asks with these credentials now."""
    return asked.rests_until is not None and asked.rests_until > timezone.now()

"""Incidents: what a tool must never do, written down for the operator; the model gets none of it."""

from __future__ import annotations

import logging

from assistant.core.interceptors import CallTool, Invocation
from assistant.models import Incident
from assistant.services.database import in_database
from tools import ForeignRow, ToolResult
from tools.context import UserId

logger = logging.getLogger(__name__)


async def watch_for_incidents(invocation: Invocation, call: CallTool) -> ToolResult:
    """An interceptor: a result that holds another tenant's row becomes an incident and a failed call."""
    try:
        return await call(invocation)
    except ForeignRow as exc:
        logger.critical("%s", exc)
        await in_database(record_incident, invocation=invocation, description=str(exc))
        raise


def record_incident(*, invocation: Invocation, description: str) -> Incident:
    """Write an incident down."""
    context = invocation.context
    user_id: UserId = context.user.id
    return Incident.objects.create(
        tenant_id=int(context.tenant.id or 0),
        user_id=user_id,
        tool=invocation.tool.name,
        run_id=context.run_id,
        call_id=context.tool_call_id,
        description=description,
    )

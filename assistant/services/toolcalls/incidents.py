"""Records incidents, such as a tool result with another tenant's rows, for the operator."""

from __future__ import annotations

import logging

from django.db import transaction

from assistant.core.extensions.interceptors import CallTool, Invocation
from assistant.models import Incident
from assistant.services.db.threads import in_database
from assistant.services.tenant_events import TOOL_INCIDENT, record_event
from assistant.toolkit import ForeignRow, ToolResult
from assistant.toolkit.context import UserId

logger = logging.getLogger(__name__)


async def report_incidents(invocation: Invocation, call: CallTool) -> ToolResult:
    """An interceptor that records an incident if a result contains another tenant's row; the call fails."""
    try:
        return await call(invocation)
    except ForeignRow as exc:
        logger.critical("%s", exc)
        await in_database(record_incident, invocation=invocation, description=str(exc))
        raise


@transaction.atomic
def record_incident(*, invocation: Invocation, description: str) -> Incident:
    """Store an incident and record its event."""
    context = invocation.context
    user_id: UserId = context.user.id
    incident = Incident.objects.create(
        tenant_id=int(context.tenant.id or 0),
        user_id=user_id,
        tool=invocation.tool.name,
        run_id=context.run_id,
        call_id=context.tool_call_id,
        description=description,
    )
    record_event(
        tenant_id=incident.tenant_id,
        event=TOOL_INCIDENT,
        data={"incident": incident.pk, "tool": incident.tool, "run": incident.run_id, "call": incident.call_id},
        event_key=str(incident.pk),
    )
    return incident

"""What stands around tenants' runs, model calls and tool calls, over MCP too: built in, of apps or named by settings.

Incidents, such as a tool result with another tenant's rows, are recorded for the operator.
"""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, ExitStack
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from assistant.core.extensions.interceptors import InterceptedModel, ModelInterceptor, ToolInterceptor
from assistant.core.llm.protocol import Model
from assistant.models import Incident
from assistant.services.db.threads import in_database
from assistant.services.tenant_events import TOOL_INCIDENT, record_event
from assistant.services.toolcalls.observers import NAMES, ObservedRun, Observer
from assistant.toolkit import ForeignRow, ToolContext
from assistant.toolkit.calls.gate import positional_mistake
from assistant.toolkit.context import UserId

logger = logging.getLogger(__name__)


def observers() -> list[Observer]:
    """Return the observers that record anything, the outermost first."""
    return [import_string(observer) for if_any, observer in NAMES.items() if import_string(if_any)()]


def observed(run: ObservedRun) -> AbstractContextManager[object]:
    """Return a context manager within which the observers watch a run."""
    stack = ExitStack()
    for observer in observers():
        stack.enter_context(observer.around_run(run))
    return stack


@lru_cache
def load_interceptors(*names: str) -> tuple[Any, ...]:
    """Import interceptors by dotted name. A class is instantiated once for the process.

    Raises:
        ImportError: a name cannot be imported.
    """
    found = [import_string(name) for name in names]
    return tuple(one() if isinstance(one, type) else one for one in found)


def problem_of_interceptor(name: str) -> str:
    """Return why an interceptor cannot be used, as the end of a sentence; empty if it can."""
    try:
        (found,) = load_interceptors(name)
    except ImportError as exc:
        return f"cannot be imported: {exc}"
    except Exception as exc:  # its class can raise anything
        return f"cannot be made: {name} raised {type(exc).__name__}"
    mistake = positional_mistake(found, 2)
    return f"cannot be called: {name} {mistake}" if mistake else ""


def tool_interceptors() -> tuple[ToolInterceptor, ...]:
    """Return the interceptors of tool calls, outermost first: observers, then `ASSISTANT_TOOL_INTERCEPTORS`."""
    own: tuple[ToolInterceptor, ...] = load_interceptors(*settings.ASSISTANT_TOOL_INTERCEPTORS)
    return (*[observer.around_call for observer in observers()], *own) if NAMES else own


def with_interceptors(model: Model, *, tenant: str) -> Model:
    """Wrap a model in what observes it and in `ASSISTANT_MODEL_INTERCEPTORS`."""
    watching = [observer.around_requests(model, tenant=tenant) for observer in observers()] if NAMES else []
    watched = InterceptedModel(model, watching) if watching else model
    own: tuple[ModelInterceptor, ...] = load_interceptors(*settings.ASSISTANT_MODEL_INTERCEPTORS)
    return InterceptedModel(watched, own) if own else watched


async def report_incident(exc: Exception, tool: str, context: ToolContext) -> None:
    """Record an incident if a result contains another tenant's row; for `CallSettings.on_raised`."""
    if isinstance(exc, ForeignRow):
        logger.critical("%s", exc)
        await in_database(record_incident, tool=tool, context=context, description=str(exc))


@transaction.atomic
def record_incident(*, tool: str, context: ToolContext, description: str) -> Incident:
    """Store an incident and record its event."""
    user_id: UserId = context.user.id
    incident = Incident.objects.create(
        tenant_id=int(context.tenant.id or 0),
        user_id=user_id,
        tool=tool,
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

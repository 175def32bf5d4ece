"""Events of a tenant that its own programs may be told of: optional apps take them, and send them on.

The names of events are public (docs/webhooks.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast
from urllib.parse import quote

from django.db.models import BooleanField, Exists, Q, Value
from django.db.models.expressions import Combinable
from django.urls import NoReverseMatch
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from assistant.services.addresses import api_url
from assistant.services.run_key import RunKey

RUN_FINISHED = "run.finished"
APPROVAL_WANTED = "approval.wanted"
QUOTA_REACHED = "quota.reached"
TOOL_INCIDENT = "tool.incident"
_described: dict[str, str | Promise] = {
    RUN_FINISHED: _("run.finished: a run has ended, with or without an error"),
    APPROVAL_WANTED: _("approval.wanted: a run waits for approval of a tool call"),
    QUOTA_REACHED: _("quota.reached: a request was refused because a quota is used up"),
    TOOL_INCIDENT: _("tool.incident: a tool's result was withheld because it contained another tenant's row"),
}


class Receiver(Protocol):
    """A module that takes events."""

    def subscribed(self, tenant_id: Any) -> Exists:
        """Return the condition, within a query, that somebody wants a tenant's events."""
        ...

    def record_event(self, *, tenant_id: int, event: str, data: Mapping[str, Any], event_key: str) -> object:
        """Take an event, as the function of this name."""
        ...

    def record_run_event(
        self, *, key: RunKey, status: str, error_code: str, input_tokens: int, output_tokens: int
    ) -> object:
        """Take the end of a run, as the function of this name."""
        ...


_receivers: list[str] = []


def add_event(event: str, description: str | Promise) -> None:
    """Let tenants choose an event: an optional app's, beside those of the core."""
    _described[event] = description


def event_choices() -> list[tuple[str, str | Promise]]:
    """Return the names of all events, with their descriptions."""
    return list(_described.items())


def receive_in(module: str) -> None:
    """Tell a module of events: a `Receiver`, which is imported by this dotted name when there is one."""
    if module not in _receivers:
        _receivers.append(module)


def _modules() -> list[Receiver]:
    return [cast(Receiver, import_module(name)) for name in _receivers]


def is_heard(tenant_id: Any) -> Combinable | Q:
    """Return the condition, within a query, that a receiver wants a tenant's events.

    Args:
        tenant_id: the id, or an expression.
    """
    heard = Q()
    for receiver in _modules():
        heard |= Q(receiver.subscribed(tenant_id))
    return heard or Value(False, output_field=BooleanField())


def record_event(*, tenant_id: int, event: str, data: Mapping[str, Any], event_key: str) -> None:
    """Tell the receivers of an event. Must be called in the transaction of what it reports.

    Args:
        data: JSON values; must hold nothing that users or models wrote.
        event_key: identifies the event among all of its kind. Recording the same event again tells nothing.
    """
    for receiver in _modules():
        receiver.record_event(tenant_id=tenant_id, event=event, data=data, event_key=event_key)


def record_run_event(*, key: RunKey, status: str, error_code: str, input_tokens: int, output_tokens: int) -> None:
    """Tell the receivers that a run has ended, or waits. Must be called in the transaction that ends it."""
    for receiver in _modules():
        receiver.record_run_event(
            key=key,
            status=status,
            error_code=error_code,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
        )


def run_url(*, tenant: str, run_id: str) -> str:
    """Return the path of a run in the REST API, or "" in a project that does not include its URLs."""
    try:
        base = api_url("run", tenant=tenant, run_id="-").removesuffix("-/")
    except NoReverseMatch:
        return ""
    # A run id may hold a slash.
    return f"{base}{quote(run_id, safe='')}/"

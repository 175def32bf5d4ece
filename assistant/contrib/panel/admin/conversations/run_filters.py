"""List filters of runs and tool calls."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from assistant.admin.base.filters import ToolFilter
from assistant.models import Run, ToolCall

# The state of a run whose approval was given, refused or has expired.
ANSWERED = "answered"


class CalledToolFilter(ToolFilter):
    """Filter calls by their tool."""

    field = "name"


class RunStatusFilter(admin.SimpleListFilter):
    """Filter runs by their state, where runs whose approval was answered or has expired are `ANSWERED`.

    Their status stays `waiting`, because another run continues them.
    """

    title = gettext_lazy("status")
    parameter_name = "status__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [*Run.Status.choices, (ANSWERED, gettext_lazy("Answered; another run went on"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        status = self.value()
        if status == ANSWERED:
            return queryset.filter(status=Run.Status.WAITING).exclude(awaits_approval())
        if status == Run.Status.WAITING:
            return queryset.filter(awaits_approval(), status=Run.Status.WAITING)
        return queryset.filter(status=status) if status else queryset


def awaits_approval() -> Exists:
    """Return the condition that a call of a run waits for approval."""
    calls = ToolCall.objects.filter(run=OuterRef("pk"), tenant=OuterRef("tenant"))
    return Exists(calls.filter(status=ToolCall.Status.AWAITING_APPROVAL))

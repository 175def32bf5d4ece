"""Filters of the list of conversations: by rating, failed runs, tools that were called, and cost."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.filters import ToolFilter
from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.panel.admin.lists.cells import money
from assistant.contrib.panel.reports.tool_use import FAILED as FAILED_CALLS
from assistant.core.values.pricing import MILLIONTHS
from assistant.models import Conversation, Feedback, Run, ToolCall, UsageEntry

COSTS = ("0.01", "0.1", "1", "10", "100")
FAILED = (Run.Status.FAILED, Run.Status.INTERRUPTED)


class RatingFilter(admin.SimpleListFilter):
    """Conversations in which a member has rated an answer."""

    title = gettext_lazy("rating")
    parameter_name = "rating"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("down", gettext_lazy("Thumbs down")), ("up", gettext_lazy("Thumbs up"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> QuerySet[Conversation]:
        rated = Feedback.objects.filter(message__conversation=OuterRef("pk"), tenant=OuterRef("tenant"))
        if self.value() == "down":
            return queryset.filter(Exists(rated.filter(rating__lt=0)))
        return queryset.filter(Exists(rated.filter(rating__gt=0))) if self.value() == "up" else queryset


class OutcomeFilter(admin.SimpleListFilter):
    """Conversations with a run or a tool call that failed."""

    title = gettext_lazy("failure")
    parameter_name = "failed"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("run", gettext_lazy("A run failed")), ("call", gettext_lazy("A tool failed"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> QuerySet[Conversation]:
        if self.value() == "run":
            runs = Run.objects.filter(conversation=OuterRef("pk"), tenant=OuterRef("tenant"), status__in=FAILED)
            return queryset.filter(Exists(runs))
        if self.value() == "call":
            calls = ToolCall.objects.filter(run__conversation=OuterRef("pk"), tenant=OuterRef("tenant"))
            return queryset.filter(Exists(calls.filter(status__in=FAILED_CALLS)))
        return queryset


class TestsFilter(admin.SimpleListFilter):
    """Tests of prompts, which the list leaves out at first."""

    title = gettext_lazy("test")
    parameter_name = "test"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("only", gettext_lazy("Only tests")), ("all", gettext_lazy("With tests"))]

    def choices(self, changelist: Any) -> Iterator[Any]:
        first, *others = super().choices(changelist)
        yield {**first, "display": gettext("Without tests")}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> QuerySet[Conversation]:
        queryset = queryset.filter(is_temporary=False)
        if self.value() == "only":
            return queryset.exclude(test_tools="")
        return queryset if self.value() == "all" else queryset.filter(test_tools="")


class UsedToolFilter(ToolFilter):
    """Conversations in which a tool of the catalogue was called."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> QuerySet[Conversation]:
        if not self.value():
            return queryset
        calls = ToolCall.objects.filter(run__conversation=OuterRef("pk"), tenant=OuterRef("tenant"), name=self.value())
        return queryset.filter(Exists(calls))


class CostFilter(admin.SimpleListFilter):
    """Conversations whose runs have cost more than an amount together."""

    title = gettext_lazy("cost")
    parameter_name = "cost_above"

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        self._permission = model_admin.permission
        super().__init__(request, params, model, model_admin)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(cost, gettext("Above %(cost)s") % {"cost": money(Decimal(cost))}) for cost in COSTS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> QuerySet[Conversation]:
        if self.value() not in COSTS:
            return queryset
        # Summed once for all conversations, and not for each of them.
        spent = UsageEntry.objects.filter(tenant__in=tenants_of(request, self._permission)).order_by()
        dear = spent.values("run__conversation").annotate(spent=Sum("cost"))
        above = dear.filter(spent__gt=round(float(self.value() or 0) * MILLIONTHS), run__conversation__isnull=False)
        return queryset.filter(pk__in=above.values("run__conversation"))

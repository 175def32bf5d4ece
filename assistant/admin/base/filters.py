"""List filters. They offer only values that occur in the user's rows, and find these without reading all rows."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import AllValuesFieldListFilter, RelatedFieldListFilter
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from assistant.admin.base.links import assistant_label
from assistant.admin.base.visible_tenants import is_operator, picked_tenant_id, tenants_of
from assistant.models import Assistant
from assistant.services.toolpolicy import catalogue

# Tenants and assistants that a filter offers: with many more, each page would contain thousands of links. The picker in
# the header has all tenants.
MAX_TENANTS = MAX_ASSISTANTS = 100
# The newest rows of a list, in which a filter looks for its values.
NEWEST_ROWS = 2_000


class TenantFilter(RelatedFieldListFilter):
    """Filter by the tenants that have rows in the list; with a picked tenant, by this one alone.

    Each tenant's rows are looked for with an index: Django's own filter reads all rows of the list.
    """

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # type: ignore[override]
        """Return the ids and names of the first tenants by name, and of the chosen one."""
        rows = model_admin.get_queryset(request).order_by().filter(**{self.field_path: OuterRef("pk")})
        tenants = tenants_of(request, model_admin.permission).filter(Exists(rows)).order_by("name", "slug").only("name")
        if (picked := picked_tenant_id(request)) is not None:
            tenants = tenants.filter(pk=picked)
        # Rows without a tenant belong to the deployment.
        self._offers_none = field.null and is_operator(request) and picked is None
        found = list(tenants[:MAX_TENANTS])
        chosen = row_id(request.GET.get(self.lookup_kwarg, ""))
        if chosen is not None and chosen not in {row.pk for row in found}:
            found += tenants.filter(pk=chosen)
        return [(str(row.pk), str(row)) for row in found]

    @property
    def include_empty_choice(self) -> bool:
        return self._offers_none


TENANT = ("tenant", TenantFilter)


class NewestValuesFilter(AllValuesFieldListFilter):
    """Filter by a column's values in the newest `NEWEST_ROWS` rows: Django's own filter reads all rows."""

    def __init__(  # noqa: PLR0917 - Django's own
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, field_path: str
    ) -> None:
        super().__init__(field, request, params, model, model_admin, field_path)
        newest = model_admin.get_queryset(request).order_by("-pk").values_list(field_path, flat=True)[:NEWEST_ROWS]
        self.lookup_choices: Any = sorted(set(newest) - {""})


class ToolFilter(admin.SimpleListFilter):
    """Filter by a tool of the catalogue; `field` is the column with its name."""

    title = gettext_lazy("tool")
    parameter_name = "tool"
    field = "tool"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(tool.name, tool.name) for tool in catalogue.registry()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(**{self.field: self.value()}) if self.value() else queryset


class AssistantFilter(admin.SimpleListFilter):
    """Filter by the assistants that the user may see, labelled with their tenants."""

    title = gettext_lazy("assistant")
    parameter_name = "assistant__id__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Offer the assistants of the picked tenant, else the first of all, and the one that is chosen."""
        rows = Assistant.objects.filter(tenant__in=tenants_of(request, model_admin.permission)).select_related("tenant")
        rows = rows.only("name", "slug", "tenant__slug")
        if (picked := picked_tenant_id(request)) is not None:
            rows = rows.filter(tenant=picked)
        found = list(rows.order_by("name", "tenant__slug", "slug")[:MAX_ASSISTANTS])
        chosen = row_id(request.GET.get(self.parameter_name, ""))
        if chosen is not None and chosen not in {row.pk for row in found}:
            found += rows.filter(pk=chosen)
        return [(str(row.pk), assistant_label(row)) for row in found]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not (text := self.value() or ""):
            return queryset
        chosen = row_id(text)
        return queryset.none() if chosen is None else queryset.filter(assistant_id=chosen)


def row_id(text: str) -> int | None:
    """Return the id in an address; None if no row can have it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None

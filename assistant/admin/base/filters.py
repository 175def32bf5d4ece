"""List filters; they offer only values that occur in the user's rows."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.http import HttpRequest

from assistant.services.toolpolicy import catalogue

TENANT = ("tenant", RelatedOnlyFieldListFilter)
ASSISTANT = ("assistant", RelatedOnlyFieldListFilter)


class ToolFilter(admin.SimpleListFilter):
    """Filter by a tool of the catalogue; `field` is the column with its name."""

    title = "tool"
    parameter_name = "tool"
    field = "tool"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(tool.name, tool.name) for tool in catalogue.registry()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(**{self.field: self.value()}) if self.value() else queryset


class CalledToolFilter(ToolFilter):
    """Filter calls by their tool."""

    field = "name"

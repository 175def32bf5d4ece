"""The list of the labels of tenants, for operators only."""

from __future__ import annotations

from assistant.admin.base.filters import TENANT
from assistant.admin.base.tenant_scope import TenantScopedAdmin


class TenantLabelAdmin(TenantScopedAdmin):
    """Labels of tenants, by which change sets find them. They change nothing by themselves."""

    tenant_admins_may = frozenset()
    list_display = ("label", "tenant")
    list_filter = ("label", TENANT)
    search_fields = ("label", "tenant__name", "tenant__slug")
    list_select_related = ("tenant",)
    fields = ("tenant", "label")

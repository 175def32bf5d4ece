"""The list of tenants, and the form of their settings."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from assistant.admin.base.merging import MergingInline
from assistant.admin.base.tenant_scope import Scoped, TenantScopedAdmin
from assistant.admin.base.visible_tenants import is_operator
from assistant.models import Retention, Tenant
from assistant.services.privacy.retention import record_periods
from assistant.services.privacy.retention_rules import kinds
from assistant.services.tenancy.tenants import set_active


class RetentionInline(Scoped, MergingInline, admin.StackedInline[Any, Any]):
    """The tenant's retention periods."""

    model = Retention
    verbose_name_plural = gettext_lazy("retention")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return kinds()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Empty periods have the same effect as no row.
        return False


class TenantAdmin(TenantScopedAdmin):
    """Operators create tenants; a tenant's admin edits its name, time zone and default provider."""

    tenant_path = "pk"
    # A tenant is erased with its files, and its runs are stopped first: by `manage.py assistant_delete_tenant`.
    possible_actions: Collection[str] = frozenset({"view", "add", "change"})
    tenant_admins_may = frozenset({"view", "change"})
    list_display: tuple[Any, ...] = ("name", "slug", "timezone", "is_active", "created_at")
    list_filter = ("is_active", "timezone")
    list_per_page = 50
    search_fields = ("slug", "name")
    ordering = ("slug",)
    fields = (
        "name",
        "slug",
        "timezone",
        "default_provider",
        "fallback_provider",
        "fallback_model",
        "ends_runs_on_tool_failure",
        "after_untrusted",
        "trusts_documents",
        "shows_usage",
        "approvals_by_others",
        "chat_reading",
        "email_domains",
        "created_at",
    )
    readonly_fields = ("created_at",)
    inlines = (RetentionInline,)
    actions: tuple[Any, ...] = ("suspend", "activate")

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Make the rules with several choices optional: a form that leaves one out does not change it."""
        field = super().formfield_for_choice_field(db_field, request, **kwargs)
        if field is not None and db_field.name in {"after_untrusted", "chat_reading"}:
            field.required = False
        return field

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is not None and obj.external_id is not None:
            return ("name", "slug", "timezone", "email_domains", *self.readonly_fields)
        # A domain makes members of people whom only the operator can say to belong here.
        return self.readonly_fields if is_operator(request) else ("slug", "email_domains", *self.readonly_fields)

    @admin.action(description=gettext_lazy("Suspend the selected tenants"), permissions=["add"])
    def suspend(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        self._set_active(request, queryset, is_active=False)

    @admin.action(description=gettext_lazy("Activate the selected tenants"), permissions=["add"])
    def activate(self, request: HttpRequest, queryset: QuerySet[Tenant]) -> None:
        self._set_active(request, queryset, is_active=True)

    def _set_active(self, request: HttpRequest, queryset: QuerySet[Tenant], *, is_active: bool) -> None:
        """Suspend or activate tenants, but those of which the project's own tenant says it."""
        for tenant in queryset.filter(external_id=None):
            set_active(tenant=tenant, is_active=is_active, notice=tenant.suspension_notice, actor=request.user)

    def tenant_of(self, row: Tenant) -> Tenant:
        return row

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        super().save_formset(request, form, formset, change)
        if formset.model is Retention and formset.has_changed():
            record_periods(actor=request.user, periods=form.instance.retention)

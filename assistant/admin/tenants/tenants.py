"""Tenants, their limits and retention periods."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_protect

from assistant.admin.base.tenant_scope import Scoped, TenantScopedAdmin
from assistant.admin.base.visible_tenants import is_operator
from assistant.admin.tenants.tenant_list import TenantColumns, TenantList
from assistant.models import Retention, Tenant, TenantLimits
from assistant.models.limits import OF_END_USER, OF_MEMBER, OF_TENANT
from assistant.models.retention import KINDS
from assistant.services.limits.quota_ledger import reset_use
from assistant.services.limits.quota_report import use_of_members, use_of_tenant
from assistant.services.privacy import erasure
from assistant.services.privacy.retention import record_periods


class RetentionInline(Scoped, admin.StackedInline[Any, Any]):
    """The tenant's retention periods."""

    model = Retention
    fields = KINDS
    verbose_name_plural = "retention"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Empty periods have the same effect as no row.
        return False


class LimitsInline(Scoped, admin.StackedInline[Any, Any]):
    """The tenant's limits. Only operators set the limits for all members together."""

    model = TenantLimits
    fieldsets = (
        ("All members together", {"fields": OF_TENANT}),
        ("Each member", {"fields": OF_MEMBER}),
        ("Each end user", {"fields": OF_END_USER}),
    )
    verbose_name_plural = "limits"

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return () if is_operator(request) else OF_TENANT

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Empty limits have the same effect as no row.
        return False


@admin.register(Tenant)
class TenantAdmin(TenantColumns, TenantScopedAdmin):
    """Operators create tenants; a tenant's admin edits its name, time zone and default provider."""

    tenant_path = "pk"
    tenant_admins_may = frozenset({"view", "change"})
    list_display = (
        "name",
        "is_active",
        "spend",
        "runs",
        "failed",
        "last_run",
        "owner",
        "member_count",
        "assistant_count",
        "switchboard",
    )
    list_filter = ("is_active", "timezone")
    list_select_related = ("limits",)
    list_per_page = 50
    search_fields = ("slug", "name")
    ordering = ("slug",)
    fields = (
        "name",
        "slug",
        "timezone",
        "is_active",
        "suspension_notice",
        "default_provider",
        "ends_runs_on_tool_failure",
        "after_untrusted",
        "trusts_documents",
        "shows_usage",
        "switchboard",
        "used",
        "created_at",
    )
    readonly_fields = ("switchboard", "used", "created_at")
    inlines = (LimitsInline, RetentionInline)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[TenantList]:
        return TenantList

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Make the rule for text from outside optional: a form that leaves it out does not change it."""
        field = super().formfield_for_choice_field(db_field, request, **kwargs)
        if field is not None and db_field.name == "after_untrusted":
            field.required = False
        return field

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is not None and obj.external_id is not None:
            return ("name", "slug", "timezone", "is_active", *self.readonly_fields)
        operators = ("slug", "is_active", "suspension_notice")
        return self.readonly_fields if is_operator(request) else (*operators, *self.readonly_fields)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A tenant synchronised from the project's own is deleted with that one, not here."""
        return super().has_delete_permission(request, obj) and (obj is None or obj.external_id is None)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer no deletion of several tenants at once: each is erased from its own page."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    @method_decorator(csrf_protect)
    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Show what would be deleted; after confirmation erase the tenant as `manage.py delete_tenant` does.

        Not in Django's transaction: other processes must see that the tenant is inactive, and stop its runs.
        """
        tenant = self.row_or_404(request, object_id, self.has_delete_permission)
        if request.method != "POST":
            context = self.admin_site.each_context(request) | {
                "title": gettext("Erase %(tenant)s") % {"tenant": tenant.name},
                "opts": self.opts,
                "object": tenant,
                "counts": sorted(erasure.count_tenant(tenant).items()),
            }
            return TemplateResponse(request, "admin/assistant/tenant/erase.html", context | (extra_context or {}))
        if request.POST.get("slug", "").strip() != tenant.slug:
            self.message_user(request, gettext("Nothing was deleted: the short name does not match."), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        counts = erasure.erase_tenant(tenant=tenant, actor=cast(AbstractBaseUser, request.user))
        sentence = gettext("%(tenant)s was erased, with %(number)d rows.")
        numbers = {"tenant": tenant.name, "number": sum(counts.values())}
        self.message_user(request, sentence % numbers, messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:assistant_tenant_changelist"))

    def tenant_of(self, row: Tenant) -> Tenant:
        return row

    @admin.display(description="tools")
    def switchboard(self, tenant: Tenant) -> SafeString | str:
        if tenant._state.adding:
            return "—"
        return format_html('<a href="{}">Switchboard</a>', reverse("admin:switchboard_of_tenant", args=[tenant.slug]))

    @admin.display(description="used of its limits")
    def used(self, tenant: Tenant) -> SafeString | str:
        if tenant._state.adding:
            return "—"
        context = {"tenant": tenant, "use": use_of_tenant(tenant=tenant), "members": use_of_members(tenant=tenant)}
        return render_to_string("admin/assistant/tenant/use.html", context)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        super().save_formset(request, form, formset, change)
        if formset.model is TenantLimits and formset.has_changed():
            reset_use(tenant_id=form.instance.pk)
        if formset.model is Retention and formset.has_changed():
            record_periods(actor=request.user, periods=form.instance.retention)

"""The list of tenants with their use, the tabs of each, the wizard of a new one, and their erasure."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_safe

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import ALL
from assistant.admin.tenants import TenantAdmin
from assistant.contrib.panel.admin.base.replacing import replace
from assistant.contrib.panel.admin.tenants import tabs
from assistant.contrib.panel.admin.tenants.added_inlines import added_inlines
from assistant.contrib.panel.admin.tenants.inviting import inviting_urls
from assistant.contrib.panel.admin.tenants.tenant_list import TenantColumns, TenantList
from assistant.contrib.panel.admin.tenants.tenant_pages import PAGES, days_csv_view, tab_view
from assistant.contrib.panel.admin.tenants.user_erasure import rows_by_kind
from assistant.contrib.panel.admin.tenants.wizard import LIMITS, NewTenantForm, suggestions, try_to_make
from assistant.models import Tenant
from assistant.services.privacy import erasure


@replace(Tenant)
class TenantPages(TenantColumns, TenantAdmin):
    """Operators create tenants; a tenant's admin edits its name, time zone and default provider."""

    possible_actions = ALL
    list_display = (
        "name",
        "standing",
        "spend",
        "runs",
        "failed",
        "last_run",
        "owner",
        "member_count",
        "assistant_count",
        "switchboard",
    )
    list_select_related = ("limits",)
    # Each is suspended on its own page, with a notice for its members.
    actions = ()
    change_form_template = "admin/assistant/tenant/change_form.html"

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        return (*self.inlines, *added_inlines())

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[TenantList]:
        return TenantList

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A tenant synchronised from the project's own is deleted with that one, not here."""
        return super().has_delete_permission(request, obj) and (obj is None or obj.external_id is None)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Offer no deletion of several tenants at once: each is erased from its own page."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    @method_decorator(csrf_protect)
    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Show what would be deleted; after confirmation erase the tenant as `manage.py assistant_delete_tenant` does.

        Not in Django's transaction: other processes must see that the tenant is inactive, and stop its runs.
        """
        tenant = self.row_or_404(request, object_id, self.has_delete_permission)
        if request.method != "POST":
            context = self.admin_site.each_context(request) | {
                "title": gettext("Erase %(tenant)s") % {"tenant": tenant.name},
                "opts": self.opts,
                "object": tenant,
                "counts": rows_by_kind(erasure.count_tenant(tenant)),
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

    @admin.display(description=gettext_lazy("tools"))
    def switchboard(self, tenant: Tenant) -> SafeString:
        board = reverse("admin:switchboard_of_tenant", args=[tenant.slug])
        return format_html('<a href="{}">{}</a>', board, gettext("Switchboard"))

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        pages = [
            path(f"<path:object_id>/{tab.slug}/", wrap(tab_view(self, tab, page)), name=f"assistant_tenant_{tab.slug}")
            for tab, page in PAGES.items()
        ]
        days = path("<path:object_id>/days.csv", wrap(require_safe(days_csv_view)), name="assistant_tenant_days")
        return [*pages, days, *tabs.added_urls(self), *inviting_urls(self), *super().get_urls()]

    @method_decorator(csrf_protect)
    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None) -> Any:
        """Make a tenant with all that it needs, in one step."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = NewTenantForm(request.POST if request.method == "POST" else None)
        if form.is_valid() and (made := try_to_make(request, form)) is not None:
            tenant, sentence = made
            self.message_user(request, sentence, messages.SUCCESS)
            tab = tabs.OVERVIEW if tenant.memberships.exists() else tabs.PEOPLE
            return HttpResponseRedirect(reverse(tab.url_name, args=[tenant.pk]))
        context = self.admin_site.each_context(request) | {
            "title": gettext("New tenant"),
            "opts": self.opts,
            "form": form,
            "of_tenant": [form[name] for name in ("name", "owner", "slug", "timezone", "copy_of")],
            "of_assistant": [form["assistant"], form["prompt"]],
            "limits": [form[name] for name in LIMITS],
            "suggestions": suggestions(),
        }
        return TemplateResponse(request, "admin/assistant/tenant/wizard.html", context | (extra_context or {}))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Show Django's form as one of the tabs."""
        tenant = tabs.tenant_of_tab(request, object_id, tabs.SETTINGS)
        frame = tabs.frame_of(request, tenant, tabs.SETTINGS)
        return super().change_view(request, object_id, form_url, {**frame, **(extra_context or {})})

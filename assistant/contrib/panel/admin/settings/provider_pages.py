"""The parts of the providers' pages besides the form: who uses them, a test, and the replacement of the key."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.views.main import ChangeList
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Max, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.formats import date_format
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_POST

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.admin.base.visible_tenants import is_operator
from assistant.admin.providers import ProviderAdmin, cleaned_setting
from assistant.contrib.panel.admin.base.added_links import added_links
from assistant.contrib.panel.admin.base.replacing import replace
from assistant.contrib.panel.reports.provider_use import ProviderUse, uses_of
from assistant.contrib.panel.services.provider_check import check_provider, put_into_use
from assistant.contrib.panel.services.provider_keys import KeyRefused, rotate_key
from assistant.models import Provider, TenantLimits
from assistant.providers.given_settings import key_of


class KeyForm(forms.Form):
    """A provider's new key."""

    api_key = forms.CharField(
        label=gettext_lazy("New API key"),
        max_length=1_000,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "autofocus": True, "size": 60}),
        help_text=gettext_lazy("Tried at once. If the provider does not answer with it, the stored key stays."),
    )

    def clean_api_key(self) -> str:
        return cleaned_setting(key_of, self, "api_key")


class ProviderList(ChangeList):
    """The list, with the use and the last change of each provider of the page."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        uses, changes = uses_of(providers=rows), last_changes(rows)
        for row in rows:
            row.use, row.last_change = uses[row.pk], changes.get(str(row.pk))
        self.result_list = rows


def last_changes(rows: list[Provider]) -> dict[str, LogEntry]:
    """Return the newest entry about each provider by its id as text; two queries."""
    entries = LogEntry.objects.filter(
        content_type=ContentType.objects.get_for_model(Provider), object_id__in=[str(row.pk) for row in rows]
    )
    newest = entries.order_by().values("object_id").annotate(newest=Max("pk")).values("newest")
    return {str(entry.object_id): entry for entry in LogEntry.objects.filter(pk__in=newest).select_related("user")}


@replace(Provider)
class ProviderPages(ProviderAdmin):
    """The columns about the use of a provider, and the buttons of its page."""

    change_form_template = "admin/assistant/provider/change_form.html"
    list_display = (*ProviderAdmin.list_display, "used_by", "set_by")
    fields = (*ProviderAdmin.fields, "set_by")
    readonly_fields = (*ProviderAdmin.readonly_fields, "set_by")
    actions = ("test",)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the provider; a tenant's new one answers for no assistant until it was tested or chosen."""
        if not change and obj.tenant_id is not None:
            obj.is_untested = True
        super().save_model(request, obj, form, change)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ProviderList

    def response_post_save_add(self, request: HttpRequest, obj: Any) -> HttpResponseRedirect:
        """Lead to the page of a provider that is not in use yet, which says so, and what will be sent to it."""
        if obj.is_untested:
            return HttpResponseRedirect(reverse("admin:assistant_provider_change", args=[obj.pk]))
        return super().response_post_save_add(request, obj)

    @admin.display(description=gettext_lazy("used by"))
    def used_by(self, provider: Any) -> str:
        """Return how many use it; on its own page this is computed for it alone."""
        use: ProviderUse = getattr(provider, "use", None) or uses_of(providers=[provider])[provider.pk]
        if not use.assistants:
            if use.defaults:
                return gettext("a tenant's default")
            return gettext("a fallback") if use.fallbacks else gettext("nobody")
        assistants = ngettext("%(count)d assistant", "%(count)d assistants", use.assistants) % {"count": use.assistants}
        return assistants + (
            ngettext(" of %(count)d tenant", " of %(count)d tenants", use.tenants) % {"count": use.tenants}
        )

    @admin.display(description=gettext_lazy("last changed"))
    def set_by(self, provider: Any) -> str:
        if not provider.pk:
            return "—"
        entry = provider.last_change if hasattr(provider, "last_change") else None
        if not hasattr(provider, "last_change"):
            entry = last_changes([provider]).get(str(provider.pk))
        if entry is None:
            return "—"
        at = date_format(timezone.localtime(entry.action_time), "SHORT_DATETIME_FORMAT")
        return gettext("by %(user)s on %(at)s") % {"user": entry.user, "at": at}

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        return [
            path("<path:object_id>/test/", wrap(require_POST(self.test_view)), name="assistant_provider_test"),
            path("<path:object_id>/use/", wrap(require_POST(self.use_view)), name="assistant_provider_use"),
            path("<path:object_id>/rotate/", wrap(self.rotate_view), name="assistant_provider_rotate"),
            *super().get_urls(),
        ]

    @admin.action(description=gettext_lazy("Test the selected providers"), permissions=["change"])
    def test(self, request: HttpRequest, queryset: QuerySet[Provider]) -> None:
        """Ask each provider, say what it answered, and put those of tenants into use that answered."""
        for provider in queryset:
            self.test_provider(request, provider)

    def test_provider(self, request: HttpRequest, provider: Provider) -> None:
        """Ask a provider, and say what it answered."""
        try:
            check = check_provider(provider=provider, actor=request.user)
        except ImproperlyConfigured:
            self.message_user(request, gettext("No key of this deployment decrypts its API key."), messages.ERROR)
        else:
            self.message_user(request, check.sentence, messages.SUCCESS if check.is_good else messages.ERROR)

    def test_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask the provider, and say what it answered."""
        provider = self.row_or_404(request, object_id, self.has_change_permission)
        self.test_provider(request, provider)
        return HttpResponseRedirect(reverse("admin:assistant_provider_change", args=[provider.pk]))

    def use_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Put a provider into use without a test."""
        provider = self.row_or_404(request, object_id, self.has_change_permission)
        if put_into_use(provider=provider, actor=request.user):
            self.message_user(request, gettext("The provider is in use."), messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:assistant_provider_change", args=[provider.pk]))

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        provider = context.get("original")
        if provider is not None and provider.tenant_id is not None:
            context["first_use"] = first_use_of(provider)
        if provider is not None and is_operator(request):
            context["added_links"] = added_links("provider", provider)
        return super().render_change_form(request, context, *args, **kwargs)

    @method_decorator(csrf_protect)
    def rotate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Take a new key, try it, and store it if the provider answers."""
        provider = self.row_or_404(request, object_id, self.has_change_permission)
        form = KeyForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            try:
                found = rotate_key(provider=provider, api_key=form.cleaned_data["api_key"], actor=request.user)
            except KeyRefused as exc:
                form.add_error("api_key", str(exc))
            else:
                # For the column that says who changed the provider last. The audit trail has its own entry.
                super(TenantScopedAdmin, self).log_change(request, provider, "Rotated the key.")
                sentence = gettext("The key was replaced, and is used from the next request on.")
                self.message_user(request, f"{sentence} {found.sentence}", messages.SUCCESS)
                return HttpResponseRedirect(reverse("admin:assistant_provider_change", args=[provider.pk]))
        context = self.admin_site.each_context(request) | {
            "title": gettext("New key of %(provider)s") % {"provider": provider},
            "opts": self.opts,
            "original": provider,
            "form": form,
        }
        return TemplateResponse(request, "admin/assistant/provider/rotate.html", context)


def first_use_of(provider: Provider) -> dict[str, Any]:
    """Return what the page of a tenant's provider says before it is in use.

    Where the tenant uses no provider with a key yet, that is what goes where, and of a cap of spend: a server without a
    key is the tenant's own.
    """
    keys = Provider.objects.filter(tenant=provider.tenant_id).exclude(api_key="")
    has_key = keys.filter(pk=provider.pk).exists()
    has_others = keys.filter(is_untested=False).exclude(pk=provider.pk).exists()
    limits = TenantLimits.objects.filter(tenant=provider.tenant_id).first()
    return {
        "is_first_key": has_key and not has_others,
        "host": urlsplit(provider.base_url).hostname or "",
        "has_cap": bool(limits and (limits.tenant_cost_per_month or limits.tenant_cost_per_day)),
        "limits": reverse("admin:assistant_tenant_spend", args=[provider.tenant_id]),
    }

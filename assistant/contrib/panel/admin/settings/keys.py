"""The API keys' pages. A new key is shown once, and revoking a key cannot be undone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import user_column, username
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import TenantForm, choices_of
from assistant.admin.base.visible_tenants import administered, is_operator
from assistant.contrib.panel.admin.base.people import person_options, tenant_of_form
from assistant.contrib.panel.admin.base.picker import MAX_OPTIONS
from assistant.contrib.panel.admin.base.show_secret_once import SingleUseForm
from assistant.contrib.panel.admin.lists.cells import state
from assistant.contrib.panel.admin.lists.list_parts import ListParts, Total
from assistant.contrib.panel.admin.settings.key_pages import KeyPages
from assistant.contrib.panel.admin.tools.board_request import words_in
from assistant.models import ApiKey, ApiKeyUse, Membership, Tenant
from assistant.services.tenancy.api_keys import revoke_api_keys, works
from assistant.services.tenancy.members import create_api_key
from assistant.services.tenancy.scopes import DEFAULT_SCOPES, SCOPES, texts_of_added_scopes

LIMITS = ("requests_per_minute", "requests_per_day", "runs_at_once")


class KeyForm(TenantForm, SingleUseForm):
    """A new key with its member and scopes; of an existing key only the limits can be edited."""

    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Scopes"),
        choices=lambda: [(scope, scope) for scope in SCOPES],
        initial=list(DEFAULT_SCOPES),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("chat: hold conversations. read: read them. tools: call tools directly."),
    )

    class Meta:
        model = ApiKey
        fields = ("tenant", "user", "name", "scopes", *LIMITS, "expires_at")

    # The tenants in which the user may make keys for every member; None for all of them.
    administered: ClassVar[frozenset[int] | None] = None
    user_id: ClassVar[Any] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "scopes" in self.fields:
            self.fields["scopes"].help_text = " ".join((str(self.fields["scopes"].help_text), *texts_of_added_scopes()))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        tenant, user = cleaned.get("tenant"), cleaned.get("user")
        if tenant is None or user is None or self.administered is None or tenant.pk in self.administered:
            return cleaned
        # A key acts as its member, who may be allowed more than the user who creates it.
        if user.pk != self.user_id:
            self.add_error("user", gettext("You may make keys for yourself only."))
        return cleaned

    def clean_expires_at(self) -> datetime | None:
        at: datetime | None = self.cleaned_data["expires_at"]
        if at is not None and at <= timezone.now():
            raise forms.ValidationError(gettext("This time is in the past: the key would never work."))
        return at


@admin.register(ApiKey)
class ApiKeyAdmin(KeyPages, ListParts):
    """API keys; only their limits can be edited, and they can be revoked."""

    permission = "keys"
    form = KeyForm
    possible_actions = frozenset({"view", "add", "change"})
    list_totals: ClassVar[Mapping[str, Total]] = {
        "standing": Total(
            gettext_lazy("Working"),
            Count("pk", filter=Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=Now()))),
        )
    }
    list_display = (
        "name",
        "user",
        "tenant",
        "standing",
        "granted",
        "last_used_at",
        "expires_at",
    )
    more_columns = ("prefix", "created_at", "revoked_at", *LIMITS)
    list_filter = (TENANT, ("revoked_at", admin.EmptyFieldListFilter))
    search_fields = ("name", "prefix", username("user"))
    list_select_related = ("tenant", "user")
    actions = ("revoke",)
    readonly_fields = ("member", "granted", "used")
    member = user_column("user")

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Ask for the tenant first: its members alone are offered."""
        is_known = request.method != "GET" or tenant_of_form(request, self.permission) is not None
        if is_known or not self.has_add_permission(request):
            return super().add_view(request, form_url, extra_context)
        words = words_in(request.GET.get("q", ""))
        wanted = Q(slug__icontains=words) | Q(name__icontains=words)
        found = choices_of(request, Tenant, self.permission).filter(wanted).order_by("name", "slug")
        tenants = list(found[: MAX_OPTIONS + 1])
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Add API key"),
            "opts": self.opts,
            "q": words,
            "tenants": tenants[:MAX_OPTIONS],
            "has_more": len(tenants) > MAX_OPTIONS,
        }
        return TemplateResponse(request, "admin/assistant/apikey/tenant.html", context)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is None:
            return (*KeyForm.Meta.fields, "once")
        return (
            "tenant",
            "member",
            "name",
            "prefix",
            "granted",
            *LIMITS,
            "used",
            "expires_at",
            "revoked_at",
            "last_used_at",
            "created_at",
        )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        form.administered = None if is_operator(request) else administered(request)
        form.user_id = request.user.pk
        return form

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "user":
            people = choices_of(request, db_field.related_model, self.permission).exclude(
                assistant_memberships__role=Membership.Role.END_USER
            )
            if not is_operator(request) and not administered(request):
                people = people.filter(pk=request.user.pk)
            # A superuser has every permission that a tool can require; a tenant's admin may not make keys for one.
            people = people if is_operator(request) else people.filter(is_superuser=False)
            tenant = tenant_of_form(request, self.permission)
            of_tenant = Membership.objects.filter(tenant=tenant).values("user")
            kwargs |= person_options(people.filter(pk__in=of_tenant))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is None:
            return self.readonly_fields
        # The scope fields only exist to create a key; `granted` shows the scopes of a stored one.
        return ("scopes", "once", *(name for name in self.get_fields(request, obj) if name not in LIMITS))

    @admin.display(description=gettext_lazy("used"))
    def used(self, key: ApiKey) -> str:
        use = ApiKeyUse.objects.filter(key=key).first()
        if use is None:
            return gettext("Requests are counted once the key has a limit.")
        when = {"day": f"{use.day_at:%Y-%m-%d}", "time": f"{use.minute_at:%H:%M}", "number": use.day_count}
        return gettext("%(number)d requests on %(day)s, the last of them at %(time)s UTC.") % when

    @admin.display(description=gettext_lazy("scopes"))
    def granted(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description=gettext_lazy("state"))
    def standing(self, key: ApiKey) -> SafeString:
        """Return whether the key works, or why not any more."""
        if works(key):
            return state("good", gettext("works"))
        return state("off", gettext("expired") if key.revoked_at is None else gettext("revoked"))

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            obj.save(update_fields=LIMITS)
            return
        self.claim(request, form, obj.tenant_id)
        row, key = create_api_key(
            tenant=obj.tenant,
            user=obj.user,
            name=obj.name,
            scopes=obj.scopes,
            expires_at=obj.expires_at,
            requests_per_minute=obj.requests_per_minute,
            requests_per_day=obj.requests_per_day,
            runs_at_once=obj.runs_at_once,
        )
        obj.pk, obj.prefix, obj.created_at = row.pk, row.prefix, row.created_at
        obj._state.adding = False
        obj.shown_once = key

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        template = "admin/assistant/apikey/made.html"
        return self.show_once(request, template, title=gettext("The new API key"), row=obj, secret=obj.shown_once)

    @admin.action(description=gettext_lazy("Revoke selected API keys"), permissions=["view"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        count = revoke_api_keys(keys=queryset.select_related("tenant"), actor=request.user)
        text = gettext("Revoked %(count)d of %(number)d selected keys.") % {"count": count, "number": queryset.count()}
        self.message_user(request, text, messages.SUCCESS)

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(require_POST(self.revoke_view))
        return [path("<path:object_id>/revoke/", view, name="assistant_apikey_revoke"), *super().get_urls()]

    def revoke_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        key = self.row_or_404(request, object_id, self.has_view_permission)
        revoke_api_keys(keys=[key], actor=request.user)
        self.message_user(request, gettext("The key %(key)s is revoked.") % {"key": key}, messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:assistant_apikey_change", args=[key.pk]))

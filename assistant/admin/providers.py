"""The providers' pages; API keys can be entered and never shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.address_fields import AddressField
from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import assistant_label, link
from assistant.admin.base.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.models import Provider
from assistant.models.assistants import ADDRESS_HELP
from assistant.models.fields import is_stored
from assistant.providers.given_settings import InvalidSetting, address_of, key_of, name_of
from assistant.providers.openai_wire.request_body import InvalidExtraBody, checked_extra_body, reserved_by
from assistant.services.assistants.provider_choice import check_prices, format_problem
from assistant.services.assistants.provider_use import assistants_of, fallbacks_of, tenants_of
from assistant.services.assistants.refused_tools import offer_again, refusals_of
from assistant.services.tenancy.url_guard import tenant_guard
from assistant.toolkit.guards.url_guard import UnsafeUrl

# Assistants and tenants listed of those that use a provider.
MAX_LISTED_USERS = 50


def cleaned_setting(read: Callable[[str, str], str], form: forms.Form | forms.ModelForm[Any], field: str) -> str:
    """Return a form's value as models use it, without what copying adds. Raises `ValidationError`, naming the field."""
    try:
        return read(form.cleaned_data[field], str(form.fields[field].label))
    except InvalidSetting as exc:
        raise forms.ValidationError(str(exc)) from exc


class ProviderForm(TenantForm):
    """The provider's form. The stored key is not loaded, and an empty key field keeps it."""

    base_url = AddressField(label=gettext_lazy("Base URL"), help_text=ADDRESS_HELP)
    new_api_key = forms.CharField(
        label=gettext_lazy("API key"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Encrypted at rest and never shown again. Empty: the stored one is kept."),
    )
    clear_api_key = forms.BooleanField(label=gettext_lazy("Delete the stored API key"), required=False)
    offer_again = forms.BooleanField(label=gettext_lazy("Offer the refused tools again"), required=False)

    class Meta:
        model = Provider
        fields = (
            "tenant",
            "name",
            "wire_format",
            "base_url",
            "kind",
            "default_model",
            "is_small",
            "is_strict",
            "sees_images",
            "reads_pdfs",
            "extra_body",
            "prices",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "wire_format" in self.fields:  # which is left out of a form that may only be read
            self.fields["wire_format"].required = False

    def clean_wire_format(self) -> str:
        """Return the chosen format; without one, that of the row, which is chat completions for a new row."""
        return str(self.cleaned_data["wire_format"] or self.instance.wire_format)

    def clean_base_url(self) -> str:
        return cleaned_setting(address_of, self, "base_url")

    def clean_new_api_key(self) -> str:
        return cleaned_setting(key_of, self, "new_api_key")

    def clean_default_model(self) -> str:
        return cleaned_setting(name_of, self, "default_model")

    def clean_prices(self) -> Any:
        prices = self.cleaned_data["prices"] or {}
        try:
            check_prices(prices)
        except ValueError as exc:
            raise forms.ValidationError(gettext("These are not prices: %(why)s.") % {"why": exc}) from exc
        return prices

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if "extra_body" in cleaned:
            reserved = reserved_by(cleaned.get("wire_format") or self.instance.wire_format)
            try:
                cleaned["extra_body"] = dict(checked_extra_body(cleaned["extra_body"] or {}, reserved))
            except InvalidExtraBody as exc:
                self.add_error("extra_body", str(exc))
        if cleaned.get("new_api_key") and cleaned.get("clear_api_key"):
            self.add_error("clear_api_key", gettext("Either give a new key or delete the stored one."))
        # A format that was switched off later does not keep the rest of the form from being changed.
        is_new = not self.instance.pk or cleaned.get("wire_format") != self.initial.get("wire_format")
        if "wire_format" in cleaned and is_new:
            problem = format_problem(cleaned["wire_format"], is_tenants=cleaned.get("tenant") is not None)
            if problem:
                self.add_error("wire_format", problem)
        keeps_key = not cleaned.get("new_api_key") and not cleaned.get("clear_api_key")
        if "base_url" in self.changed_data and keeps_key and getattr(self.instance, "key_is_stored", False):
            # Otherwise an editor of this form could have the stored key sent to a server of their own.
            self.add_error(
                "new_api_key", gettext("The address changes: give the key for it, or delete the stored one.")
            )
        if cleaned.get("tenant") is not None and "base_url" in cleaned and "base_url" in self.changed_data:
            try:
                tenant_guard().check(cleaned["base_url"])
            except UnsafeUrl as exc:
                self.add_error("base_url", str(exc))
        return cleaned


class ProviderAdmin(TenantScopedAdmin):
    """A tenant's providers, and for operators those of the deployment."""

    form = ProviderForm
    list_display: tuple[Any, ...] = ("name", "tenant", "base_url", "default_model", "has_api_key")
    list_filter = (TENANT, "wire_format", "is_small")
    search_fields = ("name", "base_url", "default_model")
    list_select_related = ("tenant",)
    fields: ClassVar[tuple[Any, ...]] = (
        "tenant",
        "name",
        "wire_format",
        "base_url",
        "kind",
        "has_api_key",
        "new_api_key",
        "clear_api_key",
        "default_model",
        "is_small",
        "is_strict",
        "sees_images",
        "reads_pdfs",
        "extra_body",
        "prices",
        "refusals",
        "offer_again",
        "users",
    )
    readonly_fields: ClassVar[tuple[Any, ...]] = ("has_api_key", "refusals", "users")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Provider]:
        rows: QuerySet[Provider] = super().get_queryset(request).defer("api_key")
        return rows.annotate(key_is_stored=is_stored("api_key"))

    @admin.display(description=gettext_lazy("API key stored"), boolean=True)
    def has_api_key(self, provider: Provider) -> bool:
        return bool(getattr(provider, "key_is_stored", False))

    @admin.display(description=gettext_lazy("refused tools"))
    def refusals(self, provider: Provider) -> SafeString | str:
        """Return the tools that the provider has refused, with its reasons."""
        lines = (
            (
                one.get("tool"),
                gettext("not offered") if one.get("certain") else gettext("one of several that were left out"),
                one.get("reason"),
            )
            for one in refusals_of(provider)
        )
        return format_html_join("", "<strong>{}</strong> ({}): {}<br>", lines) or gettext("None.")

    @admin.display(description=gettext_lazy("used by"))
    def users(self, provider: Provider) -> SafeString | str:
        """Return links to the assistants that answer with it and the tenants that have it as default."""
        lines = users_of(provider) if provider.pk else []
        return format_html_join("", "{}<br>", ((line,) for line in lines)) or gettext("nobody")

    def reasons_to_keep(self, rows: list[Provider]) -> list[Any]:
        """List those that use the providers; if these were deleted, another model would answer without notice."""
        return [reason for provider in rows for reason in _reason_to_keep(provider)]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if form.cleaned_data["clear_api_key"]:
            obj.api_key = ""
        elif form.cleaned_data["new_api_key"]:
            obj.api_key = form.cleaned_data["new_api_key"]
        if form.cleaned_data["offer_again"]:
            offer_again(obj)
        super().save_model(request, obj, form, change)


def users_of(provider: Provider) -> list[Any]:
    """Return links to those that use a provider, at most `MAX_LISTED_USERS` of each kind."""
    lines: list[Any] = []
    assistants, tenants = fallbacks_of(provider=provider)
    for rows, label in (
        (assistants_of(provider=provider), assistant_label),
        (tenants_of(provider=provider), _default),
        (assistants, _fallback_of_assistant),
        (tenants, _fallback),
    ):
        found: list[Any] = list(rows[: MAX_LISTED_USERS + 1])
        lines += [link(row, label(row)) for row in found[:MAX_LISTED_USERS]]
        if len(found) > MAX_LISTED_USERS:
            lines.append(gettext("and more"))
    return lines


def _default(tenant: Any) -> str:
    return gettext("%(tenant)s, as its default") % {"tenant": tenant.name}


def _fallback(tenant: Any) -> str:
    return gettext("%(tenant)s, as its fallback") % {"tenant": tenant.name}


def _fallback_of_assistant(assistant: Any) -> str:
    return gettext("%(assistant)s, as its fallback") % {"assistant": assistant_label(assistant)}


def _reason_to_keep(provider: Provider) -> list[Any]:
    users = users_of(provider)
    if not users:
        return []
    sentence = gettext("%(provider)s is used by these. Choose another provider for them first.")
    return [sentence % {"provider": provider.name}, users]

"""The list and form of tools' settings."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.assistants import last_switch, tool_choices
from assistant.admin.base.filters import TENANT, ToolFilter
from assistant.admin.base.merging import LastSave, newest
from assistant.admin.base.secret_fields import SecretTextarea
from assistant.admin.base.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.admin.tool_settings_form import (
    CONFIG,
    config_in,
    declared_tool,
    fields_of,
    secrets_in,
)
from assistant.models import ToolSetting
from assistant.models.fields import is_stored
from assistant.models.tool_settings import FOLLOW
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import active_reason, check_end, checked_reason
from assistant.services.toolpolicy.switch_changes import State, delete_switches, record_switch
from assistant.services.toolpolicy.switch_query import read_config, read_secrets
from assistant.toolkit import Tool

# Fields of every tool setting.
_BASE_FIELDS = ("tenant", "assistant", "tool", "policy", "reason", "until")


class SettingForm(TenantForm):
    """Validates settings against the tool's declaration; stored secrets are not loaded.

    `declared` is the tool, if it declares settings or secrets; each of them then has a form field of its own.
    """

    declared: Tool | None = None
    tool = forms.CharField(label=gettext_lazy("Tool"), disabled=True)
    new_secrets = forms.CharField(
        label=gettext_lazy("Secrets"),
        required=False,
        widget=SecretTextarea(),
        help_text=gettext_lazy(
            'A JSON object such as {"token": "…"}; encrypted at rest, never shown again. '
            "Empty: the stored ones are kept."
        ),
    )
    clear_secrets = forms.BooleanField(label=gettext_lazy("Delete the stored secrets"), required=False)

    class Meta:
        model = ToolSetting
        fields = ("tenant", "assistant", "tool", "policy", "reason", "until", "config")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and "assistant" in self.fields:
            self.fields["assistant"].disabled = True

    def last_save(self) -> LastSave | None:
        return newest(super().last_save(), last_switch(self.instance))

    def clean_reason(self) -> str:
        reason: str = self.cleaned_data["reason"].strip()
        try:
            return checked_reason(reason) if reason else ""
        except ValueError as exc:
            raise forms.ValidationError(str(exc)) from None

    def clean_config(self) -> dict[str, Any]:
        config = self.cleaned_data["config"]
        if not isinstance(config, dict):
            raise forms.ValidationError(gettext("Give a JSON object."))
        return config

    def clean_new_secrets(self) -> str:
        text: str = self.cleaned_data["new_secrets"].strip()
        try:
            read_secrets([text])
        except ValueError as exc:
            raise forms.ValidationError(str(exc)) from None
        return text

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self._check_end(cleaned)
        declared = self.declared
        if declared is not None:
            cleaned["config"] = self.instance.config if declared.config is None else config_in(declared, cleaned)
        tool, tenant, config = cleaned.get("tool"), cleaned.get("tenant"), cleaned.get("config")
        if isinstance(tool, str) and tool in catalogue.registry() and tenant is not None and config is not None:
            layers = [config]
            if cleaned.get("assistant") is not None:
                of_tenant = ToolSetting.objects.filter(tenant=tenant, assistant=None, tool=tool)
                layers = [*of_tenant.values_list("config", flat=True), config]
            try:
                read_config(catalogue.registry().get(tool), layers)
            except ValueError as exc:
                # The message begins with the path of the invalid setting.
                field = CONFIG + str(exc).partition(":")[0].partition(".")[0]
                self.add_error(field if field in self.fields else "config" if declared is None else None, str(exc))
        return cleaned

    def _check_end(self, cleaned: dict[str, Any]) -> None:
        if not cleaned.get("reason"):
            if cleaned.get("until") and "until" in self.changed_data and "reason" not in self.errors:
                self.add_error("reason", gettext("An end needs a reason, which members read."))
            cleaned["until"] = None
        elif "until" in self.changed_data or "reason" in self.changed_data:
            try:
                check_end(cleaned.get("until"))
            except ValueError as exc:
                self.add_error("until", str(exc))


class ToolSettingAdmin(TenantScopedAdmin):
    """Tool settings of tenants and assistants."""

    permission = "tools"
    form = SettingForm
    list_display = ("tool", "tenant", "assistant", "policy", "off_because", "has_secrets", "updated_at")
    list_filter = (TENANT, "policy", ToolFilter)
    search_fields = ("tool", "tenant__slug", "assistant__slug")
    list_select_related = ("tenant", "assistant")
    fields = (
        "tenant",
        "assistant",
        "tool",
        "policy",
        "reason",
        "until",
        "config",
        "declared",
        "has_secrets",
        "new_secrets",
        "clear_secrets",
    )
    readonly_fields = ("declared", "has_secrets")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        setting = obj or ToolSetting(tool=chosen_tool(request))
        declared = declared_tool(setting)
        if declared is None:
            return self.fields if obj is not None else _BASE_FIELDS
        secrets = ("clear_secrets",) if declared.secrets and obj is not None else ()
        return (*_BASE_FIELDS, *fields_of(declared, setting), *secrets)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form with a field for each setting and secret that the tool declares."""
        setting = obj or ToolSetting(tool=chosen_tool(request))
        declared = declared_tool(setting)
        fields: dict[str, Any] = {"declared": declared, **fields_of(declared, setting)} if declared else {}
        if obj is None:
            fields["tool"] = (
                forms.CharField(disabled=True, initial=setting.tool)
                if setting.tool in catalogue.registry() and request.GET.get("tool")
                else forms.ChoiceField(label=gettext_lazy("Tool"), choices=tool_choices)
            )
        kwargs["form"] = type("DeclaredForm", (SettingForm,), fields)
        return super().get_form(request, obj, change=change, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolSetting]:
        rows: QuerySet[ToolSetting] = super().get_queryset(request).defer("secrets")
        return rows.annotate(secrets_are_stored=is_stored("secrets"), active=active_reason())

    @admin.display(description=gettext_lazy("off because"))
    def off_because(self, setting: ToolSetting) -> str:
        """Return the reason why the tool is off now, whatever its policy says."""
        return str(getattr(setting, "active", ""))

    @admin.display(description=gettext_lazy("secrets stored"), boolean=True)
    def has_secrets(self, setting: ToolSetting) -> bool:
        return bool(getattr(setting, "secrets_are_stored", False))

    @admin.display(description=gettext_lazy("declared by the tool"))
    def declared(self, setting: ToolSetting) -> str:
        """Return the settings and secrets that the tool declares."""
        if setting.tool not in catalogue.registry():
            return "—"
        tool = catalogue.registry().get(setting.tool)
        properties = tool.config.model_json_schema().get("properties", {}) if tool.config else {}
        lines = [f"{name}: {json.dumps(schema)}" for name, schema in properties.items()]
        lines += [gettext("secret %(name)s") % {"name": name} for name in tool.secrets]
        return "; ".join(lines) or gettext("No settings.")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        declared = declared_tool(obj)
        if form.cleaned_data.get("clear_secrets"):
            obj.secrets = ""
        elif declared is not None:
            obj.config = form.cleaned_data["config"]
            # What was not entered stays as it is stored, even if no key decrypts it at the moment.
            if (secrets := secrets_in(declared, obj, form.cleaned_data)) is not None:
                obj.secrets = secrets
        elif form.cleaned_data.get("new_secrets"):
            obj.secrets = form.cleaned_data["new_secrets"]
        super().save_model(request, obj, form, change)
        before = (
            State(form.initial["policy"], form.initial["reason"], form.initial["until"]) if change else State(FOLLOW)
        )
        after = State(obj.policy, obj.reason, obj.until)
        record_switch(actor=request.user, setting=obj, before=before, after=after)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        delete_switches(actor=request.user, settings=[obj])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        delete_switches(actor=request.user, settings=queryset)


def chosen_tool(request: HttpRequest) -> str:
    """Return the name of the chosen tool; empty if none is chosen yet."""
    return request.GET.get("tool") or request.POST.get("tool") or ""

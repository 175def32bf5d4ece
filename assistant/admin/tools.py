"""The list and form of tools' settings."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME, AdminErrorList, AdminForm
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils.translation import gettext, gettext_lazy, ngettext

from assistant.admin.assistants import last_switch, tool_choices
from assistant.admin.base.filters import TENANT, AssistantFilter, ToolFilter, row_id
from assistant.admin.base.merging import LastSave, newest
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.secret_fields import SecretTextarea
from assistant.admin.base.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.models import ToolSetting
from assistant.models.fields import is_stored
from assistant.models.tool_settings import FOLLOW
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import active_reason, check_end, checked_reason
from assistant.services.toolpolicy.switch_changes import State, Target, delete_switches, record_switch, set_switches
from assistant.services.toolpolicy.switch_query import read_config, read_secrets

# What the action of the list sets.
_SWITCHED = ["policy", "reason", "until"]


class SettingForm(TenantForm):
    """Validates settings against the tool's declaration; stored secrets are not loaded."""

    tool: forms.Field = forms.CharField(label=gettext_lazy("Tool"), disabled=True)
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
        config = {} if self.cleaned_data["config"] is None else self.cleaned_data["config"]
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
        self.check_config(cleaned)
        return cleaned

    def check_config(self, cleaned: dict[str, Any]) -> None:
        """Add an error if the tool cannot be called with the settings of the form."""
        tool, tenant, config = cleaned.get("tool"), cleaned.get("tenant"), cleaned.get("config")
        if isinstance(tool, str) and tool in catalogue.registry() and tenant is not None and config is not None:
            layers = [config]
            if cleaned.get("assistant") is not None:
                of_tenant = ToolSetting.objects.filter(tenant=tenant, assistant=None, tool=tool)
                layers = [*of_tenant.values_list("config", flat=True), config]
            try:
                read_config(catalogue.registry().get(tool), layers)
            except ValueError as exc:
                self.add_error(self.field_with(str(exc)), str(exc))

    def field_with(self, problem: str) -> str | None:
        """Return the field that a problem of the settings is of, which begins with the path of a setting."""
        return "config"

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


class NewSettingForm(SettingForm):
    """Asks for the tool too."""

    tool = forms.ChoiceField(label=gettext_lazy("Tool"), choices=tool_choices)


class ToolSettingAdmin(TenantScopedAdmin):
    """Tool settings of tenants and assistants."""

    permission = "tools"
    form = SettingForm
    list_display = ("tool", "tenant", "assistant", "policy", "off_because", "has_secrets", "updated_at")
    list_filter = (TENANT, "policy", ToolFilter, AssistantFilter)
    actions: tuple[str, ...] = ("switch",)
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
        absent = () if obj is not None else ("declared", "has_secrets", "clear_secrets")
        return tuple(name for name in self.fields if name not in absent)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs.setdefault("form", NewSettingForm if obj is None else SettingForm)
        return super().get_form(request, obj, change=change, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolSetting]:
        rows: QuerySet[ToolSetting] = super().get_queryset(request).defer("secrets")
        return rows.annotate(secrets_are_stored=is_stored("secrets"), active=active_reason())

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.switch_view)
        return [path("switch/", view, name="switch_tools"), *super().get_urls()]

    @admin.action(description=gettext_lazy("Switch the selected tools on or off"), permissions=["change"])
    def switch(self, request: HttpRequest, queryset: QuerySet[ToolSetting]) -> HttpResponse:
        """Show how the selected tools are switched now, and a form that switches them."""
        return self._switch_page(request, queryset, self._switch_form(request)())

    def switch_view(self, request: HttpRequest) -> HttpResponse:
        """Switch the tools that the page of `switch` has shown as its form says."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        chosen = [row_id(text) for text in request.POST.getlist(ACTION_CHECKBOX_NAME)]
        rows = self.get_queryset(request).filter(pk__in=[pk for pk in chosen if pk is not None])
        form = self._switch_form(request)(request.POST or None)
        if rows and not form.is_valid():
            return self._switch_page(request, rows, form)
        if rows:
            targets = [Target(row.tenant_id, row.assistant_id, row.tool) for row in rows]
            try:
                change = set_switches(actor=request.user, targets=targets, **form.cleaned_data)
            except ValueError as exc:
                form.add_error(None, gettext("Nothing was changed: %(why)s.") % {"why": exc})
                return self._switch_page(request, rows, form)
            count = len(change.changed)
            text = ngettext("%(count)d switch was set.", "%(count)d switches were set.", count)
            self.message_user(request, text % {"count": count})
        return HttpResponseRedirect(reverse("admin:assistant_toolsetting_changelist"))

    def _switch_form(self, request: HttpRequest) -> type[forms.ModelForm[ToolSetting]]:
        field = partial(self.formfield_for_dbfield, request=request)
        return forms.modelform_factory(ToolSetting, fields=_SWITCHED, formfield_callback=field)

    def _switch_page(self, request: HttpRequest, rows: QuerySet[ToolSetting], form: Any) -> HttpResponse:
        """Return the form in the theme's page of a row."""
        title = gettext("Switch tools")
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "original": title,
            "media": self.media + form.media,
            "adminform": AdminForm(form, [(None, {"fields": _SWITCHED})], {}, model_admin=self),
            "errors": AdminErrorList(form, []),
            "inline_admin_formsets": [],
            "is_popup": False,
            "show_delete": False,
            "show_save_and_add_another": False,
            "show_save_and_continue": False,
            "rows": rows,
        }
        url = reverse("admin:switch_tools")
        page: Any = admin.ModelAdmin.render_change_form(self, request, context, change=True, form_url=url)
        page.template_name = "admin/assistant/switch.html"
        shown: HttpResponse = page
        return shown

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
        if form.cleaned_data.get("clear_secrets"):
            obj.secrets = ""
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

"""The assistants' pages, with their prompt versions and tool switches."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.assistant_form import AssistantForm
from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import user_column
from assistant.admin.base.merging import LastSave, MergingForm, last_entry, newest
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import TenantScopedAdmin, TenantScopedInline
from assistant.models import Assistant, PromptVersion, ToolSetting
from assistant.services.assistants.additions import INLINES
from assistant.services.assistants.configuration import LIMIT_COLUMNS
from assistant.services.assistants.provider_choice import describe_provider
from assistant.services.runs.extensions.added import extension_choices
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.switch_changes import ACTION, delete_switches, knows_tool, set_switch, switch_target


def tool_choices() -> list[tuple[str, str]]:
    """Return the catalogue's tools; callable choices, so that a new tool needs no migration."""
    return [(tool.name, tool.name) for tool in catalogue.registry()]


class PromptVersionInline(TenantScopedInline):
    """The assistant's prompt versions, read-only; they are edited and published on their own pages."""

    model = PromptVersion
    possible_actions = frozenset({"view"})
    fields = ("number", "label", "status", "note", "author", "created_at", "published_at")
    readonly_fields = fields
    author = user_column("created_by")
    show_change_link = True
    verbose_name_plural = _("prompt versions")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("assistant", "created_by")


def last_switch(setting: Any) -> LastSave | None:
    """Return who set a stored switch last, on any page; None for a new one."""
    if setting.pk is None:
        return None
    return last_entry(tenant=setting.tenant, actions=[ACTION], target=switch_target(setting))


class SwitchForm(MergingForm):
    """One tool's switch for this assistant."""

    tool = forms.ChoiceField(label=_("Tool"), choices=tool_choices)

    class Meta:
        model = ToolSetting
        fields = ("tool", "policy")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.fields["tool"] = forms.CharField(disabled=True)

    def last_save(self) -> LastSave | None:
        return newest(super().last_save(), last_switch(self.instance))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        tenant_id = self.instance.tenant_id or 0
        if self.has_changed() and not knows_tool(tenant_id=tenant_id, name=str(cleaned.get("tool"))):
            raise forms.ValidationError(
                gettext("This deployment has no such tool any more; its switch can only be deleted.")
            )
        return cleaned


class SwitchFormSet(forms.BaseInlineFormSet[ToolSetting, Assistant, SwitchForm]):
    """Rejects two switches for the same tool."""

    def clean(self) -> None:
        super().clean()
        names = [form.cleaned_data["tool"] for form in self.forms if form.cleaned_data.get("tool")]
        doubled = {name for name in names if names.count(name) > 1}
        if doubled:
            raise forms.ValidationError(
                gettext("Each tool has one switch: %(tools)s.") % {"tools": ", ".join(sorted(doubled))}
            )


class SwitchInline(TenantScopedInline):
    """The assistant's own switches; a tool without one follows the tenant's."""

    model = ToolSetting
    form = SwitchForm
    formset = SwitchFormSet  # type: ignore[assignment]
    fields = ("tool", "policy")
    show_change_link = True
    verbose_name = _("switch")
    verbose_name_plural = _("tool switches of this assistant (they narrow the tenant's)")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("secrets")


_GROUPS: tuple[Any, ...] = (
    (None, {"fields": ("tenant", "name", "slug", "description", "is_active")}),
    (
        _("Model"),
        {
            "fields": (
                "answers_with",
                "provider",
                "model",
                "other_models",
                "fallback_provider",
                "fallback_model",
                "temperature",
            )
        },
    ),
    (_("Prompt"), {"fields": ("published_prompt",)}),
    (_("Welcome"), {"fields": ("greeting", "starters", "translations")}),
    (_("Clients"), {"fields": ("when_busy", "on_disconnect", "takes_context")}),
    (_("Additions"), {"fields": ("extensions",)}),
    (_("Limits of one run"), {"fields": (*LIMIT_COLUMNS.values(), "history_tokens", "history_messages")}),
)


def _in_no_group() -> tuple[str, ...]:
    """Return the other fields that people edit, so that none is missing from the page."""
    named = {name for _title, options in _GROUPS for name in options["fields"]}
    fields = (field for field in Assistant._meta.fields if field.editable and not field.primary_key)
    return tuple(field.name for field in fields if field.name not in named)


class AssistantAdmin(TenantScopedAdmin):
    """A tenant's assistants."""

    form = AssistantForm
    list_display: tuple[Any, ...] = ("name", "slug", "tenant", "answers_with", "is_active", "updated_at")
    list_filter = (TENANT, "is_active")
    search_fields = ("name", "slug", "description")
    list_select_related = ("tenant", "provider", "tenant__default_provider")
    readonly_fields: ClassVar[tuple[Any, ...]] = ("answers_with", "published_prompt")
    inlines = (PromptVersionInline, SwitchInline)
    fieldsets = (*_GROUPS, (_("Advanced"), {"classes": ("collapse",), "fields": _in_no_group()}))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Assistant]:
        rows: QuerySet[Assistant] = super().get_queryset(request).prefetch_related("tenant__providers")
        return rows

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave out what has no choices: additions, if no app has any."""
        absent = [] if extension_choices() else [("extensions",)]
        return [part for part in super().get_fieldsets(request, obj) if part[1]["fields"] not in absent]

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """Return what apps have added too, once the assistant is saved."""
        return self.inlines if obj is None else (*self.inlines, *map(import_string, INLINES))

    @admin.display(description=_("answers with"))
    def answers_with(self, assistant: Assistant) -> str:
        return describe_provider(assistant) if assistant.pk else "—"

    @admin.display(description=_("published prompt"))
    def published_prompt(self, assistant: Assistant) -> SafeString | str:
        if not assistant.pk:
            return gettext("Save the assistant, then write its first prompt.")
        version = assistant.prompt_versions.filter(status=PromptVersion.Status.PUBLISHED).first()
        if version is None:
            return gettext("None yet.")
        url = reverse("admin:assistant_promptversion_change", args=[version.pk])
        name = gettext("Version %(number)d") % {"number": version.number}
        return format_html('<pre class="prompt">{}</pre><a href="{}">{}</a>', version.text, url, name)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Save switches through `set_switch`, which audits them."""
        if formset.model is not ToolSetting:
            super().save_formset(request, form, formset, change)
            return
        formset.save(commit=False)
        delete_switches(actor=request.user, settings=formset.deleted_objects)
        assistant = form.instance
        for row in [*formset.new_objects, *(row for row, _changed in formset.changed_objects)]:
            set_switch(
                actor=request.user,
                tenant=assistant.tenant,
                assistant=assistant,
                tool=row.tool,
                policy=row.policy,
            )

"""The pages of tenants' own prompt variables."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import assistant_label
from assistant.admin.base.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.contrib.panel.services.variable_use import versions_that_need
from assistant.models import PromptVariable
from assistant.models.prompts import MAX_VARIABLES
from assistant.toolkit.text import clean_text

# Characters of a value that the audit trail keeps, and that the list shows.
MAX_RECORDED, MAX_LISTED = 200, 80


class PromptVariableForm(TenantForm):
    """The form of a variable; its name cannot be changed, because prompts use it."""

    class Meta:
        model = PromptVariable
        fields = ("tenant", "name", "value")
        widgets = {"value": forms.Textarea(attrs={"rows": 6, "cols": 80})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk and "name" in self.fields:
            self.fields["name"].disabled = True

    def clean_value(self) -> str:
        return clean_text(self.cleaned_data["value"].replace("\r\n", "\n"))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        tenant = cleaned.get("tenant")
        if not self.instance.pk and tenant is not None and tenant.prompt_variables.count() >= MAX_VARIABLES:
            raise forms.ValidationError(_("A tenant has at most %(count)d variables.") % {"count": MAX_VARIABLES})
        return cleaned


@admin.register(PromptVariable)
class PromptVariableAdmin(TenantScopedAdmin):
    """The variables that a tenant's prompts can name, besides those that every tenant has."""

    permission = "prompts"
    form = PromptVariableForm
    list_display = ("name", "short_value", "tenant", "updated_at")
    list_filter = (TENANT,)
    search_fields = ("name", "value")
    list_select_related = ("tenant",)
    fields = ("tenant", "name", "value", "created_at", "updated_at")
    readonly_fields = ("created_at", "updated_at")

    @admin.display(description=gettext_lazy("value"))
    def short_value(self, row: PromptVariable) -> str:
        return Truncator(row.value).chars(MAX_LISTED)

    def reasons_to_keep(self, rows: list[Any]) -> list[Any]:
        """Return a sentence for each published or scheduled version that names one of the variables."""
        return [
            _("%(name)s is used by version %(number)s of %(assistant)s.")
            % {"name": row.name, "number": version.number, "assistant": assistant_label(version.assistant)}
            for row in rows
            for version in versions_that_need(variable=row)
        ]

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        """Keep the value before and after for the audit entry."""
        message = super().construct_change_message(request, form, formsets, add)
        if "value" in form.changed_data:
            pair = [form.initial.get("value"), form.cleaned_data["value"]]
            values: dict[str, Any] = request._changed_values  # type: ignore[attr-defined]
            values["value"] = [Truncator(text).chars(MAX_RECORDED) if text else None for text in pair]
        return message

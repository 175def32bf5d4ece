"""The pages of tenants' own checks."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.filters import TENANT
from assistant.admin.base.links import assistant_label
from assistant.admin.base.tenant_scope import TenantForm, TenantScopedAdmin
from assistant.contrib.evaluations.models import HostileCheck
from assistant.contrib.evaluations.models.hostile_checks import MAX_OWN_CHECKS
from assistant.services.toolpolicy.switch_changes import knows_tool
from assistant.toolkit.text import clean_text

_FORBIDDEN = ("forbidden_tool", "forbidden_text", "forbidden_value")
_TEXTS = ("question", "planted_result", "forbidden_text", "forbidden_value")
# The prefix of the tools that ask other assistants.
_ASSISTANT = "ask_"


class HostileCheckForm(TenantForm):
    """The form of a check; it needs something that must not happen, and tools that the tenant has."""

    class Meta:
        model = HostileCheck
        fields = (
            "tenant", "assistant", "name", "question", "planted_tool", "planted_result", *_FORBIDDEN, "is_active",
        )  # fmt: skip
        widgets = {
            "question": forms.Textarea(attrs={"rows": 4, "cols": 80}),
            "planted_result": forms.Textarea(attrs={"rows": 6, "cols": 80}),
            **{name: forms.TextInput(attrs={"size": 60}) for name in ("forbidden_text", "forbidden_value")},
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        for name in _TEXTS:
            if cleaned.get(name):
                cleaned[name] = clean_text(cleaned[name].replace("\r\n", "\n"))
        tenant = cleaned.get("tenant")
        if tenant is not None:
            self._clean_for(tenant, cleaned)
        return cleaned

    def _clean_for(self, tenant: Any, cleaned: dict[str, Any]) -> None:
        if not self.instance.pk and HostileCheck.objects.filter(tenant=tenant).count() >= MAX_OWN_CHECKS:
            self.add_error(None, _("A tenant has at most %(count)d checks of its own.") % {"count": MAX_OWN_CHECKS})
        for field in ("planted_tool", "forbidden_tool"):
            name = cleaned.get(field)
            if name and not name.startswith(_ASSISTANT) and not knows_tool(tenant_id=tenant.pk, name=name):
                self.add_error(field, _("The tenant has no tool of this name."))


@admin.register(HostileCheck)
class HostileCheckAdmin(TenantScopedAdmin):
    """A tenant's own checks, which are made together with the shipped ones."""

    permission = "prompts"
    form = HostileCheckForm
    list_display = ("name", "of_assistant", "tenant", "forbidden", "is_active")
    list_filter = (TENANT, "is_active")
    search_fields = ("name", "question")
    list_select_related = ("tenant", "assistant__tenant")
    fieldsets = (
        (None, {"fields": ("tenant", "assistant", "name", "is_active")}),
        (gettext_lazy("What is tried"), {"fields": ("question", "planted_tool", "planted_result")}),
        (
            gettext_lazy("What must not happen"),
            {
                "fields": _FORBIDDEN,
                "description": gettext_lazy(
                    "A call that a rule refuses, or that a person would be asked about first, has not happened."
                ),
            },
        ),
    )

    @admin.display(description=gettext_lazy("assistant"), ordering="assistant__name")
    def of_assistant(self, row: HostileCheck) -> str:
        return _("all") if row.assistant is None else assistant_label(row.assistant)

    @admin.display(description=gettext_lazy("must not happen"))
    def forbidden(self, row: HostileCheck) -> str:
        texts = {
            _("call %(what)s"): row.forbidden_tool,
            _("say %(what)s"): row.forbidden_text,
            _("send %(what)s"): row.forbidden_value,
        }
        return "; ".join(sentence % {"what": what} for sentence, what in texts.items() if what)

    def save_model(self, request: Any, obj: Any, form: Any, change: bool) -> None:
        if not change:
            obj.created_by = request.user
        super().save_model(request, obj, form, change)

"""The part of an assistant's page that says which others it may ask."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from assistant.admin.assistant_form import SchemaField, checked_schema
from assistant.admin.base.merging import MergingInline
from assistant.admin.base.tenant_scope import Scoped, TenantForm
from assistant.contrib.sub_agents.models import Delegation
from assistant.models import Assistant


class DelegationForm(TenantForm):
    """Which assistants one may ask, and the task that it is sent itself."""

    class Meta:
        model = Delegation
        fields = ("delegates", "task_schema")
        field_classes = {"task_schema": SchemaField}
        widgets = {"delegates": forms.CheckboxSelectMultiple}

    def clean_task_schema(self) -> Any:
        return checked_schema(self.cleaned_data["task_schema"])


class DelegationFormSet(forms.BaseInlineFormSet[Delegation, Assistant, DelegationForm]):
    """Offers the other assistants of the tenant."""

    def add_fields(self, form: DelegationForm, index: int | None) -> None:
        super().add_fields(form, index)
        form.instance.tenant_id = self.instance.tenant_id
        field: Any = form.fields["delegates"]
        others = Assistant.objects.filter(tenant_id=self.instance.tenant_id).exclude(pk=self.instance.pk)
        field.queryset = others.order_by("name")


class DelegationInline(Scoped, MergingInline, admin.StackedInline[Any, Any]):
    """Which assistants one may ask."""

    model = Delegation
    form = DelegationForm
    formset = DelegationFormSet  # type: ignore[assignment]
    verbose_name_plural = _("delegates")
    fields = ("delegates", "task_schema")

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        return super().formfield_for_manytomany(
            db_field, request, **{**kwargs, "widget": forms.CheckboxSelectMultiple()}
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # A row without delegates has the same effect as none.
        return False

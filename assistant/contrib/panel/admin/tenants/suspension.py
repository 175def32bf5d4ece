"""The form that suspends a tenant, with a notice for its members, or activates it again."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext

from assistant.admin.base.merging import LastSave, MergingForm, last_entry
from assistant.models import Tenant
from assistant.services.tenancy.tenants import set_active


class SuspensionForm(MergingForm):
    """The notice, and whether the tenant is active afterwards: the button that was pressed says so."""

    is_active = forms.TypedChoiceField(
        choices=[("yes", "yes"), ("no", "no")], coerce=lambda text: text == "yes", widget=forms.HiddenInput
    )

    class Meta:
        model = Tenant
        fields = ("suspension_notice",)
        widgets = {"suspension_notice": forms.Textarea(attrs={"rows": 3, "cols": 60, "maxlength": 500})}

    def last_save(self) -> LastSave | None:
        return last_entry(tenant=self.instance, actions=["tenant.suspend", "tenant.activate"])

    def clean(self) -> None:
        if self.instance.external_id is not None:
            raise forms.ValidationError(gettext("The project's own tenant says whether this one is active."))


def suspend_or_activate(request: HttpRequest, tenant: Tenant, form: SuspensionForm) -> str:
    """Suspend a tenant, activate it, or change the notice of a suspended one; return what was done."""
    values = form.cleaned_data
    set_active(tenant=tenant, is_active=values["is_active"], notice=values["suspension_notice"], actor=request.user)
    if values["is_active"]:
        return gettext("%(tenant)s is active.") % {"tenant": tenant.name}
    sentence = gettext("%(tenant)s is suspended: its members are refused everywhere within seconds.")
    return sentence % {"tenant": tenant.name}

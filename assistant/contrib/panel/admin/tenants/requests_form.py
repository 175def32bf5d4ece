"""The form with which an operator keeps the requests to models of a tenant, for some hours."""

from __future__ import annotations

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy, ngettext

from assistant.models import Tenant
from assistant.services.runs.extensions.kept_requests import LIFETIME, MAX_HOURS, keep_requests


class KeepRequestsForm(forms.Form):
    """For how many hours from now on, and why; 0 hours end it."""

    hours = forms.IntegerField(
        label=gettext_lazy("Hours"),
        min_value=0,
        max_value=MAX_HOURS,
        initial=1,
        help_text=gettext_lazy("From now on; at most a day. 0 ends it."),
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"), max_length=300, help_text=gettext_lazy("For the tenant's audit.")
    )


def keep_or_end(request: HttpRequest, tenant: Tenant, form: KeepRequestsForm) -> str:
    """Switch the keeping on or off; return what was done."""
    values = form.cleaned_data
    until = keep_requests(tenant=tenant, hours=values["hours"], actor=request.user, reason=values["reason"])
    if until is None:
        return gettext("What models are sent is not kept any more.")
    sentence = ngettext(
        "What models are sent for %(tenant)s is kept for an hour, and erased after %(days)d days.",
        "What models are sent for %(tenant)s is kept for %(hours)d hours, and erased after %(days)d days.",
        values["hours"],
    )
    return sentence % {"tenant": tenant.name, "hours": values["hours"], "days": LIFETIME.days}

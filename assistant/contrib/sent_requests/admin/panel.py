"""What pages of the control panel show of sent requests: a tab of tenants with a form, and a part of runs' pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext

from assistant.contrib.panel.admin.base.action_titles import name_actions
from assistant.contrib.panel.admin.base.job_titles import describe_job
from assistant.contrib.panel.admin.conversations.run_sections import add_run_section
from assistant.contrib.panel.admin.tenants.tabs import SETTINGS, AddedTab, Tab, add_tab
from assistant.contrib.panel.admin.tenants.tenant_pages import Page, tab_view
from assistant.contrib.sent_requests.keeping import ERASE_JOB, MAX_HOURS, keep_requests, kept_until, requests_of
from assistant.contrib.sent_requests.retention import LIFETIME
from assistant.models import Run, Tenant

REQUESTS = Tab("requests", gettext_lazy("Sent requests"), is_operators=True)


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


def _context(request: HttpRequest, tenant: Tenant) -> dict[str, Any]:
    return {
        "form": KeepRequestsForm(request.POST if request.method == "POST" else None),
        "until": kept_until(tenant),
        "days": LIFETIME.days,
    }


def _urls(page: Any) -> list[URLPattern]:
    view = tab_view(page, REQUESTS, Page(_context, keep_or_end), "admin/assistant/sent_requests/tab.html")
    wrapped = page.admin_site.admin_view(view)
    return [path("<path:object_id>/requests/", wrapped, name="assistant_tenant_requests")]


def section_of(run: Run) -> SafeString | str:
    """Return what the model of a run was sent, as far as it is kept."""
    requests = requests_of(run=run)
    context = {"sent_requests": requests, "sent_days": LIFETIME.days}
    return render_to_string("admin/assistant/sent_requests/run.html", context) if requests else ""


add_tab(AddedTab(REQUESTS, after=SETTINGS, urls=_urls))
add_run_section(section_of)
name_actions("requests", gettext_lazy("sent requests"))
describe_job(
    ERASE_JOB,
    gettext_lazy("Erase what models were sent"),
    must_be_done=gettext_lazy("What models were sent must be erased."),
)

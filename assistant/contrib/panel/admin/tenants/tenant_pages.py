"""The pages behind the tabs of a tenant, from the overview to the danger zone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone

from assistant.admin.base.changes import sentence_of_entry
from assistant.admin.base.merging import MergingForm, kept_sentence
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, permitted_of
from assistant.admin.limits import save_limits
from assistant.contrib.panel.admin.base.action_titles import action_title
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, may_show
from assistant.contrib.panel.admin.base.shown_rules import shown_rule
from assistant.contrib.panel.admin.base.tenant_lock import merging_lock
from assistant.contrib.panel.admin.home.home import chart_of, csv_of_days, shown_changes, shown_need
from assistant.contrib.panel.admin.tenants import tabs
from assistant.contrib.panel.admin.tenants.inviting import inviting
from assistant.contrib.panel.admin.tenants.limit_hints import hinted_form
from assistant.contrib.panel.admin.tenants.roles import labels_of
from assistant.contrib.panel.admin.tenants.suspension import SuspensionForm, suspend_or_activate
from assistant.contrib.panel.admin.tenants.tabs import Tab, page_of, tenant_of_tab
from assistant.contrib.panel.admin.tools.tenant_board import TOOLS_ON_A_PAGE
from assistant.contrib.panel.reports import tenant_page
from assistant.contrib.panel.reports.home import HomeReport, home_report, last_changes
from assistant.contrib.panel.reports.needs import needs
from assistant.contrib.panel.reports.sent_data import kept_for, recipients_of
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.contrib.panel.reports.tenants import tenant_reports
from assistant.contrib.panel.services.assistant_board import board_of_assistants
from assistant.contrib.panel.services.quota_report import use_of_members, use_of_tenant
from assistant.models import Tenant
from assistant.services.assistants.provider_choice import describe_provider
from assistant.services.errors import Refused

Context = dict[str, Any]


def _report_of(tenant: Tenant) -> HomeReport:
    only = TenantFilter(frozenset({tenant.pk}))
    return home_report(tenants=only, now=timezone.now(), zone=ZoneInfo(tenant.timezone))


def days_csv_view(request: HttpRequest, object_id: str) -> HttpResponse:
    """Return the days of a tenant's overview as a CSV file."""
    return csv_of_days(_report_of(tenant_of_tab(request, object_id, tabs.OVERVIEW)))


def _overview(request: HttpRequest, tenant: Tenant) -> Context:
    only, now = TenantFilter(frozenset({tenant.pk})), timezone.now()
    report = _report_of(tenant)
    return {
        "report": report,
        "zone": tenant.timezone,
        "use": tenant_reports(tenants=[tenant], now=now)[tenant.pk],
        "needs": [shown_need(need) for need in needs(tenants=only, now=now)],
        "chart": chart_of(report),
        "days_csv": reverse("admin:assistant_tenant_days", args=[tenant.pk]),
        "changes": shown_changes(last_changes(tenants=only)),
        "links": tabs.overview_links(request, tenant),
    }


def _people(request: HttpRequest, tenant: Tenant) -> Context:
    page = Paginator(tenant_page.people_of(tenant=tenant), tenant_page.LISTED).get_page(request.GET.get("page"))
    roles = [(role, labels_of(role)) for role in tenant_page.roles_of(tenant=tenant)]
    app = inviting()
    section = {} if app is None else {"inviting": app.template, **app.context(request, tenant)}
    return {"page": page, "roles": roles, **section}


def _invite(request: HttpRequest, tenant: Tenant, form: forms.Form) -> str:
    app = inviting()
    # Without an app there is no form.
    return "" if app is None else app.save(request, tenant, form)


def _assistants(request: HttpRequest, tenant: Tenant) -> Context:
    found = list(tenant_page.assistants_of(tenant=tenant))
    rows = [(one, describe_provider(one)) for one in found[: tenant_page.LISTED]]
    return {"rows": rows, "has_more": len(found) > tenant_page.LISTED}


def _tools(request: HttpRequest, tenant: Tenant) -> Context:
    rows = [(row, row.cells[0].decision) for row in board_of_assistants(tenant=tenant, assistants=[])]
    counts = {policy: sum(decision.policy == policy for _, decision in rows) for policy in ("on", "ask", "off")}
    shown = [(row, decision.policy, shown_rule(decision.rule)) for row, decision in rows[:TOOLS_ON_A_PAGE]]
    return {"rows": shown, "counts": counts, "more": len(rows) - len(shown)}


def _spend(request: HttpRequest, tenant: Tenant) -> Context:
    # Those who may only see the spend get no form.
    may_set = is_operator(request) or tenant.pk in permitted_of(request).administered
    sent = request.POST if request.method == "POST" else None
    use = use_of_tenant(tenant=tenant)
    return {
        "spend": tenant_page.spend_of(tenant=tenant, now=timezone.now()),
        "cost": next((line for line in use if line.key == "cost_per_month"), None),
        "use": use,
        "members": use_of_members(tenant=tenant),
        "form": hinted_form(request, tenant, sent) if may_set else None,
    }


def _sent_data(request: HttpRequest, tenant: Tenant) -> Context:
    use = use_of_tenant(tenant=tenant)
    recipients = recipients_of(tenant)
    return {
        "recipients": recipients,
        "leaves": any(not one.is_here for one in recipients),
        "sees_images": any(one.sees_images for one in recipients),
        "reads_pdfs": any(one.reads_pdfs for one in recipients),
        "kept": kept_for(tenant),
        "cap": next((line for line in use if line.key == "cost_per_month"), None),
    }


def _keys(request: HttpRequest, tenant: Tenant) -> Context:
    return {"rows": tenant_page.keys_of(tenant=tenant), "now": timezone.now()}


def _conversations(request: HttpRequest, tenant: Tenant) -> Context:
    rows = tenant_page.conversations_of(tenant=tenant)
    return {"rows": [(row, row if may_show(request, row) else f"{str(row.pk)[:8]} ({HIDDEN})") for row in rows]}


def _audit(request: HttpRequest, tenant: Tenant) -> Context:
    entries = tenant_page.changes_of(tenant=tenant)
    return {"rows": [(entry, action_title(entry.action), sentence_of_entry(entry)) for entry in entries]}


def _danger(request: HttpRequest, tenant: Tenant) -> Context:
    return {"form": SuspensionForm(request.POST if request.method == "POST" else None, instance=tenant)}


@dataclass(frozen=True, slots=True)
class Page:
    """What a tab shows, and what a valid form of it does; the latter returns the message of success.

    `merges`: whether the form is one that keeps what others have saved meanwhile.
    """

    context: Callable[[HttpRequest, Tenant], Context]
    save: Callable[[HttpRequest, Tenant, Any], str] | None = None
    merges: bool = False


PAGES: dict[Tab, Page] = {
    tabs.OVERVIEW: Page(_overview),
    tabs.ASSISTANTS: Page(_assistants),
    tabs.TOOLS: Page(_tools),
    tabs.SPEND: Page(_spend, save_limits, merges=True),
    tabs.SENT_DATA: Page(_sent_data),
    tabs.KEYS: Page(_keys),
    tabs.CONVERSATIONS: Page(_conversations),
    tabs.AUDIT: Page(_audit),
    tabs.DANGER: Page(_danger, suspend_or_activate, merges=True),
    tabs.PEOPLE: Page(_people, _invite),
}


def tab_view(admin: Any, tab: Tab, page: Page, template: str = "") -> Callable[..., HttpResponse]:
    """Return the view of a tab, on the page of `admin`; without `template` in that of the tab's name."""

    def view(request: HttpRequest, object_id: str) -> HttpResponse:
        tenant = tenant_of_tab(request, object_id, tab)
        with merging_lock(request, tenant if page.merges else None):
            return _answer(request, tenant)

    def _answer(request: HttpRequest, tenant: Tenant) -> HttpResponse:
        context = page.context(request, tenant)
        form = context.get("form")
        if page.save is not None and form is not None and form.is_valid():
            try:
                message = page.save(request, tenant, form)
            except (ValueError, Refused) as exc:
                form.add_error(None, str(exc))
            else:
                for sentence in filter(None, (message, kept_sentence([form]))):
                    admin.message_user(request, sentence)
                return HttpResponseRedirect(request.get_full_path())
        if isinstance(form, MergingForm):
            form.restore_row()
        context = page_of(admin.admin_site, request, tenant, tab, **context)
        return TemplateResponse(request, template or f"admin/assistant/tenant/{tab.slug}.html", context)

    return view

"""The columns of the list of tenants that report their use, read for all tenants of a page at once."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from assistant.admin.base.links import link_to_list
from assistant.admin.base.own_addresses import reverse
from assistant.contrib.panel.reports.tenants import TenantReport, tenant_reports
from assistant.models import Assistant, Membership, Run, Tenant


class TenantList(ChangeList):
    """The list with a `report` on each of its tenants."""

    def url_for_result(self, result: Any) -> str:
        return reverse("admin:assistant_tenant_overview", args=[result.pk])

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        reports = tenant_reports(tenants=rows, now=timezone.now())
        for row in rows:
            row.report = reports[row.pk]
        self.result_list = rows


class TenantColumns:
    """The columns; `report` of a tenant is there in its list only."""

    @admin.display(description=gettext_lazy("spend this month"))
    def spend(self, tenant: Tenant) -> SafeString | str:
        report = _report(tenant)
        if report.cost is None:
            return number_format(report.spend, 2, force_grouping=True)
        return render_to_string("admin/assistant/panel/limit_use.html", {"line": report.cost})

    @admin.display(description=gettext_lazy("runs in 7 days"))
    def runs(self, tenant: Tenant) -> SafeString:
        return link_to_list(Run, _report(tenant).runs, tenant__id__exact=tenant.pk)

    @admin.display(description=gettext_lazy("failed"))
    def failed(self, tenant: Tenant) -> str:
        report = _report(tenant)
        return f"{100 * report.failed / report.runs:.0f} %" if report.failed else "—"

    @admin.display(description=gettext_lazy("last run"))
    def last_run(self, tenant: Tenant) -> str:
        at = _report(tenant).last_run_at
        return "—" if at is None else date_format(timezone.localtime(at), "SHORT_DATETIME_FORMAT")

    @admin.display(description=gettext_lazy("owner"))
    def owner(self, tenant: Tenant) -> str:
        return ", ".join(_report(tenant).owners) or "—"

    @admin.display(description=gettext_lazy("members"))
    def member_count(self, tenant: Tenant) -> SafeString:
        return link_to_list(Membership, _report(tenant).members, tenant__id__exact=tenant.pk)

    @admin.display(description=gettext_lazy("assistants"))
    def assistant_count(self, tenant: Tenant) -> SafeString:
        return link_to_list(Assistant, _report(tenant).assistants, tenant__id__exact=tenant.pk)


def _report(tenant: Any) -> TenantReport:
    report: TenantReport = tenant.report
    return report

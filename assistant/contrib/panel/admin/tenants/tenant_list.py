"""The columns of the list of tenants that report their use, read for all tenants of a page at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from assistant.admin.base.links import link_to_list
from assistant.admin.base.own_addresses import reverse
from assistant.contrib.panel.admin.lists.cells import moment, money, state
from assistant.contrib.panel.admin.lists.list_parts import ListParts, whole_number
from assistant.contrib.panel.reports.recent_use import cost_since, runs_since
from assistant.contrib.panel.reports.tenants import ACTIVE_DAYS, TenantReport, tenant_reports
from assistant.core.values.pricing import MILLIONTHS
from assistant.core.values.quota_kinds import Windows
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


class TenantColumns(ListParts):
    """The columns; `report` of a tenant is there in its list only."""

    list_per_page: int
    more_columns = ("slug", "timezone", "created_at")

    def more_totals(self, request: HttpRequest, rows: QuerySet[Any], shown: Sequence[Any]) -> Mapping[str, str]:
        """Return the spend and the runs of all tenants that the filters leave."""
        if len(shown) < self.list_per_page:
            return _sums(sum(_report(row).spend for row in shown), sum(_report(row).runs for row in shown))
        now = timezone.now()
        ids = list(rows.values_list("pk", flat=True))
        spent = cost_since(tenants=ids, since=Windows.at(now).month, now=now)
        ran = runs_since(tenants=ids, since=now - timedelta(days=ACTIVE_DAYS), now=now)
        cost = sum(counts["cost"] for counts in spent.values()) / MILLIONTHS
        return _sums(cost, sum(counts["runs"] for counts in ran.values()))

    @admin.display(description=gettext_lazy("state"), ordering="is_active")
    def standing(self, tenant: Tenant) -> SafeString:
        return state("good", gettext("active")) if tenant.is_active else state("off", gettext("suspended"))

    @admin.display(description=gettext_lazy("spend this month"))
    def spend(self, tenant: Tenant) -> SafeString | str:
        report = _report(tenant)
        if report.cost is None:
            return money(report.spend)
        return render_to_string("admin/assistant/panel/limit_use.html", {"line": report.cost})

    @admin.display(description=gettext_lazy("runs in 7 days"))
    def runs(self, tenant: Tenant) -> SafeString:
        return link_to_list(Run, _report(tenant).runs, tenant__id__exact=tenant.pk)

    @admin.display(description=gettext_lazy("failed"))
    def failed(self, tenant: Tenant) -> str:
        report = _report(tenant)
        return f"{100 * report.failed / report.runs:.0f} %" if report.failed else "—"

    @admin.display(description=gettext_lazy("last run"))
    def last_run(self, tenant: Tenant) -> SafeString | str:
        return moment(_report(tenant).last_run_at)

    @admin.display(description=gettext_lazy("owner"))
    def owner(self, tenant: Tenant) -> str:
        return ", ".join(_report(tenant).owners) or "—"

    @admin.display(description=gettext_lazy("members"))
    def member_count(self, tenant: Tenant) -> SafeString:
        return link_to_list(Membership, _report(tenant).members, tenant__id__exact=tenant.pk)

    @admin.display(description=gettext_lazy("assistants"))
    def assistant_count(self, tenant: Tenant) -> SafeString:
        return link_to_list(Assistant, _report(tenant).assistants, tenant__id__exact=tenant.pk)


def _sums(cost: float, runs: int) -> Mapping[str, str]:
    return {"spend": f"{gettext('Sum')} {money(cost)}", "runs": f"{gettext('Sum')} {whole_number(runs)}"}


def _report(tenant: Any) -> TenantReport:
    report: TenantReport = tenant.report
    return report

"""The page of spend, and its tables as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.merging import kept_sentence
from assistant.admin.base.visible_tenants import is_operator, permitted_of
from assistant.admin.limits import LimitsForm, save_limits
from assistant.contrib.panel.admin.base.charts import Point, bar_chart
from assistant.contrib.panel.admin.base.csv_file import csv_response
from assistant.contrib.panel.admin.base.rooms import Link
from assistant.contrib.panel.admin.base.tenant_lock import merging_lock
from assistant.contrib.panel.admin.lists.cells import in_currency, money
from assistant.contrib.panel.admin.spend.request import SpendRequest, names_of, read_request
from assistant.contrib.panel.admin.spend.spend_sections import sections_of
from assistant.contrib.panel.admin.tenants.limit_hints import hinted_form
from assistant.contrib.panel.reports.months import Month
from assistant.contrib.panel.reports.spend import (
    FORECAST_DAYS,
    KINDS,
    Line,
    Table,
    forecast,
    spend_days,
    spend_table,
    spend_total,
)
from assistant.contrib.panel.reports.spend_scope import By
from assistant.contrib.panel.services.quota_report import QuotaUsage, cost_of_month, uses_of_tenants
from assistant.models import Tenant

# The months that the picker offers.
MONTHS = 24
TITLES: Mapping[By, str | Promise] = {
    "tenant": gettext_lazy("Tenant"),
    "person": gettext_lazy("Person"),
    "assistant": gettext_lazy("Assistant"),
    "tool": gettext_lazy("Tool"),
    "model": gettext_lazy("Model"),
    "purpose": gettext_lazy("Purpose"),
    "day": gettext_lazy("Day"),
}
TABLE_TITLES: Mapping[By, str | Promise] = {
    "tenant": gettext_lazy("By tenant"),
    "person": gettext_lazy("By person"),
    "assistant": gettext_lazy("By assistant"),
    "tool": gettext_lazy("By tool"),
    "model": gettext_lazy("By model"),
    "purpose": gettext_lazy("By purpose"),
    "day": gettext_lazy("By day"),
}


def spend_page(request: HttpRequest) -> HttpResponse:
    """Show the spend of a month, of the tenants that the user may see it of, or of the picked one.

    Where that is one tenant, its admins and operators change its limits here.
    """
    now = timezone.now()
    asked = read_request(request, now=now)
    with merging_lock(request, asked.tenant):
        form = _limits_form(request, asked.tenant)
        if request.method == "POST":
            if form is None or asked.tenant is None:
                raise PermissionDenied
            if form.is_valid():
                messages.success(request, save_limits(request, asked.tenant, form))
                if sentence := kept_sentence([form]):
                    messages.info(request, sentence)
                return HttpResponseRedirect(request.get_full_path())
    month = asked.scope.month
    total = spend_total(asked.scope)
    days = spend_days(asked.scope)
    table = Table(_chosen(asked, days), None) if asked.by == "day" else spend_table(asked.scope, asked.by, total=total)
    costs = _costs(asked, table.lines, now) if asked.by == "tenant" else {}
    rows = [_row(asked, line, _name(asked.by, line), total, costs) for line in table.lines]
    if table.others is not None:
        rows.append(_row(asked, table.others, _("all others"), total, {}))
    context = {
        **admin.site.each_context(request),
        "title": _("Spend"),
        "asked": asked,
        "total": total,
        "forecast": forecast(asked.scope, spent=total.cost, now=now) if asked.scope.day is None else None,
        "forecast_days": FORECAST_DAYS,
        "cost": None if asked.tenant is None else _cost(asked, asked.tenant, total.millionths, now),
        "months": _months(month, now),
        "earlier": asked.query("day", month=str(month.previous)),
        "later": "" if month == Month.of(now) else asked.query("day", month=str(month.following)),
        "narrowings": _narrowings(asked),
        "tabs": [Link(str(TITLES[by]), f"?{asked.query(by=by)}", by == asked.by) for by in KINDS],
        "heading": TITLES[asked.by],
        "table_title": TABLE_TITLES[asked.by],
        "rows": rows,
        "days": days,
        "chart": _chart(days, spend_days(asked.scope.before)),
        "sections": sections_of(asked.tenant, month),
        "form": form,
        "csv": asked.query(),
        "days_csv": asked.query("day", by="day"),
    }
    return TemplateResponse(request, "admin/assistant/spend/page.html", context)


def spend_csv(request: HttpRequest) -> HttpResponse:
    """Return a table of the page as a CSV file, with all of its lines."""
    asked = read_request(request, now=timezone.now())
    table = spend_table(asked.scope, asked.by, total=spend_total(asked.scope), listed=None)
    head = [
        TITLES[asked.by],
        _("Of"),
        _("Runs"),
        _("Input tokens"),
        _("Cached input tokens"),
        _("Cache writes"),
        _("Output tokens"),
        in_currency(_("Cost")),
    ]
    rows = [
        (
            _name(asked.by, line),
            line.belongs_to,
            line.runs,
            line.input_tokens,
            line.cached_input_tokens,
            line.cache_write_tokens,
            line.output_tokens,
            f"{line.cost:.6f}",
        )
        for line in table.lines
    ]
    return csv_response(f"spend-{asked.scope.month}-by-{asked.by}", [str(name) for name in head], rows)


def _limits_form(request: HttpRequest, tenant: Tenant | None) -> LimitsForm | None:
    """Return the form of a tenant's limits; None without one tenant, and for those who may only see the spend."""
    if tenant is None or not (is_operator(request) or tenant.pk in permitted_of(request).administered):
        return None
    sent = request.POST if request.method == "POST" else None
    return hinted_form(request, tenant, sent)


def _chosen(asked: SpendRequest, days: Sequence[Line]) -> list[Line]:
    """Return the days of the table: the one that the page is narrowed to, else all."""
    return [day for day in days if asked.scope.day in (None, day.key)]


def _cost(asked: SpendRequest, tenant: Tenant, spent: int, now: datetime) -> QuotaUsage | None:
    """Return what a tenant has used of its limit of cost in the month of the page; None without a limit."""
    if not _is_whole(asked, now):
        return cost_of_month(tenant=tenant, spent=spent)
    used = uses_of_tenants(tenants=[tenant], now=now)[tenant.pk]
    return next((use for use in used if use.key == "cost_per_month"), None)


def _costs(asked: SpendRequest, lines: Sequence[Line], now: datetime) -> dict[int, QuotaUsage]:
    """Return the same for the tenants of these lines, by id, in as many queries for any number."""
    spent = {line.key: line.millionths for line in lines if line.key}
    tenants = list(Tenant.objects.filter(pk__in=spent).select_related("limits"))
    if _is_whole(asked, now):
        used = uses_of_tenants(tenants=tenants, now=now)
        return {pk: use for pk, uses in used.items() for use in uses if use.key == "cost_per_month"}
    found = ((tenant.pk, cost_of_month(tenant=tenant, spent=spent[tenant.pk])) for tenant in tenants)
    return {pk: use for pk, use in found if use is not None}


def _is_whole(asked: SpendRequest, now: datetime) -> bool:
    """Return whether the page is about all that tenants have used in the running month, as their limits count it."""
    scope = asked.scope
    narrowings = (scope.person, scope.assistant, scope.tool, scope.model, scope.purpose, scope.day)
    return scope.month == Month.of(now) and all(one is None for one in narrowings)


def _months(chosen: Month, now: datetime) -> list[tuple[str, str, bool]]:
    """Return the choices of the picker, the newest first: value, name, and whether it is chosen."""
    months = [Month.of(now)]
    while len(months) < MONTHS:
        months.append(months[-1].previous)
    if chosen not in months:
        months.append(chosen)
    return [(str(month), date_format(month.first, "YEAR_MONTH_FORMAT"), month == chosen) for month in months]


def _narrowings(asked: SpendRequest) -> list[tuple[str, str, str]]:
    """Return what the page is narrowed to: the kind, the name, and the URL's query without it."""
    names = names_of(asked)
    return [
        (str(TITLES[by]), names[by] or _("no tool"), asked.query(by, *(("provider",) if by == "model" else ())))
        for by in KINDS
        if by in names
    ]


def _name(by: By, line: Line) -> str:
    if line.name:
        return date_format(line.key, "SHORT_DATE_FORMAT") if by == "day" else line.name
    return {"person": _("a deleted person"), "assistant": _("a deleted assistant"), "tool": _("no tool")}.get(by, "—")


def _row(asked: SpendRequest, line: Line, name: str, total: Line, costs: Mapping[int, QuotaUsage]) -> dict[str, Any]:
    return {
        "line": line,
        "name": name,
        "query": asked.narrowed(line),
        "share": 100 * line.millionths / total.millionths if total.millionths else 0,
        "cost": costs.get(line.key) if asked.by == "tenant" else None,
    }


def _chart(days: Sequence[Line], earlier: Sequence[Line]) -> SafeString:
    """Return the days of a month, and those of the month before."""
    before = {day.key.day: day for day in earlier}
    points = [
        Point(
            date_format(day.key, "MONTH_DAY_FORMAT"),
            day.cost,
            before[day.key.day].cost if day.key.day in before else None,
            _in_words(day),
            _in_words(before[day.key.day]) if day.key.day in before else "",
        )
        for day in days
    ]
    name = _("Cost on each day of the month, and of the month before")
    return bar_chart(points, name=name, axis=settings.ASSISTANT_CURRENCY)


def _in_words(day: Line) -> str:
    values = {"date": date_format(day.key, "SHORT_DATE_FORMAT"), "cost": money(day.cost), "runs": day.runs}
    return _("%(date)s: %(cost)s, %(runs)s runs") % values

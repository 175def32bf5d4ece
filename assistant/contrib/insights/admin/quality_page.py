"""The page of quality: figures against the period before, a line of days with the changes on it, and a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.changes import sentence_of_entry
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, permitted_of
from assistant.contrib.insights.admin.request import (
    PERIODS,
    PERMISSION,
    QualityRequest,
    read_request,
    what_changed_of,
    what_changed_url,
)
from assistant.contrib.insights.admin.take_back import take_back_view
from assistant.contrib.insights.admin.what_changed_page import what_changed_view
from assistant.contrib.insights.models import DaySum, QualityWarning
from assistant.contrib.insights.services.changes import changes_of
from assistant.contrib.insights.services.fits import fitting_days
from assistant.contrib.insights.services.measures import MEASURES, Measure, Sums
from assistant.contrib.insights.services.reports import (
    KINDS,
    By,
    DayOfSums,
    Line,
    days_of,
    is_worse,
    table_of,
    total,
)
from assistant.contrib.panel.admin.assistants.assistant_pages import frame_of
from assistant.contrib.panel.admin.assistants.assistant_tabs import AssistantTab
from assistant.contrib.panel.admin.base.action_titles import action_title
from assistant.contrib.panel.admin.base.charts import Mark, Point, line_chart
from assistant.contrib.panel.admin.base.csv_file import csv_response
from assistant.contrib.panel.admin.base.page_of_rows import PageOfRows
from assistant.contrib.panel.admin.base.rooms import Link
from assistant.contrib.panel.admin.lists.cells import in_currency, money
from assistant.models import Assistant, AuditEntry, Tenant

TITLES: dict[By, str | Promise] = {
    "assistant": gettext_lazy("Assistant"),
    "prompt": gettext_lazy("Prompt version"),
    "model": gettext_lazy("Model"),
    "tool": gettext_lazy("Tool"),
    "tenant": gettext_lazy("Tenant"),
}
# Warnings are shown for so many rows.
WARNINGS = 10
# Changes that are named of one day that fits.
CHANGES_OF_A_FIT = 5
# The columns of the table, besides the measure of the line.
COLUMNS = ("disliked", "failed", "asked-again", "stopped", "cut", "first-word", "whole", "cost")


@admin.register(DaySum)
class QualityAdmin(PageOfRows):
    """In place of the list of sums stands the page; sums are made from runs and never changed by hand."""

    permission = PERMISSION

    def get_urls(self) -> list[URLPattern]:
        csv = path("quality.csv", self.admin_site.admin_view(quality_csv), name="quality_csv")
        what = path("what-changed/", self.admin_site.admin_view(_checked(what_changed_view)), name="what_changed")
        back = path(
            "what-changed/take-back/",
            self.admin_site.admin_view(_checked(take_back_view)),
            name="what_changed_take_back",
        )
        page = path("", self.admin_site.admin_view(self.changelist_view), name="assistant_insights_daysum_changelist")
        return [csv, what, back, page]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the quality of the answers of a tenant or an assistant, or of all."""
        _check(request)
        asked = read_request(request, now=timezone.now())
        context = {
            **self.admin_site.each_context(request),
            "title": _("Quality of answers"),
            "subtitle": None,
            "opts": DaySum._meta,
            **quality_context(asked),
            **_assistant_frame(request, asked),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/assistant/insights/page.html", context)


def quality_url(assistant_id: int) -> str:
    """Return the address of the page of an assistant's quality."""
    return f"{reverse('admin:assistant_insights_daysum_changelist')}?assistant={assistant_id}"


ASSISTANT_TAB = AssistantTab("quality", gettext_lazy("Quality"), quality_url, PERMISSION)


def _assistant_frame(request: HttpRequest, asked: QualityRequest) -> dict[str, Any]:
    """Return what an assistant's page has around its tabs, if the page is about one."""
    return {} if asked.assistant is None else frame_of(request, asked.assistant, ASSISTANT_TAB)


def _may_see(request: HttpRequest) -> bool:
    return is_operator(request) or bool(permitted_of(request).tenants(PERMISSION))


def _check(request: HttpRequest) -> None:
    if not _may_see(request):
        raise PermissionDenied


def _checked(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def checked(request: HttpRequest) -> HttpResponse:
        _check(request)
        return view(request)

    return checked


def quality_csv(request: HttpRequest) -> HttpResponse:
    """Return the days as a CSV file: all measures of each."""
    _check(request)
    asked = read_request(request, now=timezone.now())
    days = days_of(asked.rows, tool=asked.tool, period=asked.period)
    head = [_("Day"), *(_head(measure) for measure in MEASURES)]
    rows = [(day.day.isoformat(), *(_plain(measure.value(day.sums)) for measure in MEASURES)) for day in days]
    return csv_response("quality", head, rows)


def quality_context(asked: QualityRequest) -> dict[str, Any]:
    """Return what the page shows, in at most seven queries, none of which reads a run."""
    days = days_of(asked.rows, tool=asked.tool, period=asked.period)
    now, earlier = total(days)
    entries = _changes(asked)
    measure = asked.measure
    columns = [one for one in MEASURES if one.slug in COLUMNS]
    return {
        "asked": asked,
        "has_runs": bool(now["runs"] or earlier["runs"]),
        "figures": [_figure(asked, one, now, earlier) for one in MEASURES],
        "measure": measure,
        "chart": _chart(asked, days, entries),
        "changes": entries,
        "fits": _fits(asked, days, entries),
        "shown_by": _shown_by(asked),
        "days": [
            (day.day, shown(measure, day.sums), shown(measure, day.earlier), day.sums["runs"]) for day in reversed(days)
        ],
        "kinds": [Link(str(TITLES[by]), f"?{asked.query(by=by)}", by == asked.by) for by in _kinds(asked)],
        "heading": TITLES[asked.by],
        "columns": [one.name for one in columns],
        "rows": [
            _row(asked, line, columns)
            for line in table_of(asked.rows, by=asked.by, tool=asked.tool, period=asked.period)
        ],
        "periods": [
            Link(
                _("%(days)d days") % {"days": number}, f"?{asked.query(days=str(number))}", number == asked.period.days
            )
            for number in PERIODS
        ],
        "narrowed": _narrowed(asked),
        "warnings": _warnings(asked),
        "what_changed": what_changed_of(asked),
        "csv": f"{reverse('admin:quality_csv')}?{asked.query()}",
    }


def shown(measure: Measure, sums: Sums) -> str:
    """Return a value in words, with its unit; a dash where there is none."""
    return shown_value(measure, measure.value(sums))


def shown_value(measure: Measure, value: float | None) -> str:
    """Return a value of a measure in words."""
    if value is None:
        return "—"
    places = {"percent": 1, "seconds": 2, "cost": 4, "number": 0}[measure.unit]
    if measure.unit == "cost":
        return money(round(value, places), places)
    number = number_format(round(value, places), places, force_grouping=True)
    return f"{number}{unit_of(measure)}"


def unit_of(measure: Measure) -> str:
    """Return what stands behind a number of a measure."""
    return {"percent": " %", "seconds": " s"}.get(measure.unit, "")


def _head(measure: Measure) -> str:
    """Return the title of a column of plain numbers."""
    return in_currency(str(measure.name)) if measure.unit == "cost" else str(measure.name)


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _figure(asked: QualityRequest, measure: Measure, now: Sums, earlier: Sums) -> dict[str, Any]:
    return {
        "name": measure.name,
        "about": measure.about,
        "value": shown(measure, now),
        "earlier": shown(measure, earlier),
        "url": f"?{asked.query(measure=measure.slug)}",
        "is_current": measure is asked.measure,
        "is_worse": is_worse(measure, now, earlier),
    }


def _kinds(asked: QualityRequest) -> Sequence[By]:
    absent = {"tenant"} if asked.tenant is not None else set()
    return [by for by in KINDS if by not in absent]


def _row(asked: QualityRequest, line: Line, columns: Sequence[Measure]) -> dict[str, Any]:
    key = line.key
    of_assistant = {"assistant": str(key["assistant_id"])} if "assistant_id" in key else {}
    described: Mapping[By, Callable[[], tuple[Any, Any, dict[str, str] | None]]] = {
        "assistant": lambda: (key["assistant__name"], key["tenant__name"], of_assistant),
        "prompt": lambda: (
            _("version %(number)s") % {"number": key["prompt_number"]} if key["prompt_number"] else _("no prompt"),
            key["assistant__name"],
            {**of_assistant, "prompt": str(key["prompt_number"])},
        ),
        "model": lambda: (key["model"] or "—", key["provider"], {"model": key["model"], "provider": key["provider"]}),
        "tool": lambda: (key["tool"], "", {"tool": key["tool"]}),
        "tenant": lambda: (key["tenant__name"], "", None),
    }
    name, about, query = described[asked.by]()
    if query is None:
        url = reverse("admin:assistant_tenant_quality", args=[key["tenant_id"]])
    else:
        url = f"?{asked.query('by', **query)}"
    cells = [
        {
            "value": shown(measure, line.sums),
            "earlier": shown(measure, line.earlier),
            "is_worse": is_worse(measure, line.sums, line.earlier),
        }
        for measure in columns
    ]
    return {
        "name": name,
        "about": about if asked.tenant is None or asked.by != "assistant" else "",
        "url": url,
        "runs": line.sums["runs"],
        "calls": line.sums["calls"],
        "failed_calls": line.sums["failed_calls"],
        "cells": cells,
    }


def _narrowed(asked: QualityRequest) -> list[tuple[str, str, str]]:
    """Return what the page is narrowed to: the kind, the name, and the address without it."""
    found: list[tuple[str | Promise, str, str]] = []
    if asked.assistant is not None:
        found.append((TITLES["assistant"], asked.assistant.name, asked.query("assistant", "prompt")))
    if "prompt" in asked.given:
        found.append((TITLES["prompt"], asked.given["prompt"], asked.query("prompt")))
    if "model" in asked.given:
        found.append((TITLES["model"], asked.given["model"], asked.query("model", "provider")))
    if asked.tool:
        found.append((TITLES["tool"], asked.tool, asked.query("tool")))
    return [(str(kind), name, f"?{query}") for kind, name, query in found]


def _changes(asked: QualityRequest) -> list[dict[str, Any]]:
    """Return the changes of the period, each with the number that stands at its day on the line."""
    if asked.tenant is None:
        return []
    entries = changes_of(tenant_id=asked.tenant.pk, first=asked.period.first, last=asked.period.last)
    numbers: dict[Any, int] = {}
    return [_shown_change(entry, numbers, asked.tenant) for entry in entries]


def _fits(asked: QualityRequest, days: Sequence[DayOfSums], changes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the days of changes that fit a step of the chosen measure, each with its changes and what to do."""
    by_day: dict[Any, list[dict[str, Any]]] = {}
    for change in changes:
        by_day.setdefault(change["day"], []).append(change)
    fits = fitting_days(days, by_day.keys(), asked.measure)
    if not fits or asked.tenant is None:
        return []
    assistants = dict(Assistant.objects.filter(tenant=asked.tenant).values_list("slug", "pk"))
    return [
        {
            "day": fit.day,
            "before": shown_value(asked.measure, fit.before),
            "since": shown_value(asked.measure, fit.since),
            "changes": [
                (change, _links_of(change, asked.tenant, assistants)) for change in by_day[fit.day][:CHANGES_OF_A_FIT]
            ],
            "more": max(0, len(by_day[fit.day]) - CHANGES_OF_A_FIT),
        }
        for fit in fits
    ]


def _links_of(change: dict[str, Any], tenant: Tenant, assistants: Mapping[str, int]) -> list[Link]:
    """Return where a change is looked at and taken back."""
    action = change["action"]
    target = change["target"]
    if action.startswith("prompt."):
        slug, _space, number = target.rpartition(" v")
        if slug not in assistants or not number.isdigit():
            return []
        url = reverse("admin:prompt_editor", args=[assistants[slug]])
        compared = f"{reverse('admin:prompt_compare', args=[assistants[slug]])}?new={number}"
        return [Link(_("Roll back"), f"{url}#prompt-versions"), Link(_("Compare"), compared)]
    if action in ("tool.block", "tool.unblock"):
        return []
    if action.startswith("tool."):
        return [Link(_("Switch back"), reverse("admin:switchboard_of_tenant", args=[tenant.slug]))]
    return []


def _shown_by(asked: QualityRequest) -> str:
    """Return the address of the conversations that show what the measure counts; "" if the list has no such filter."""
    filters = {"disliked": "rating=down", "failed": "failed=run"}
    if asked.assistant is None or asked.measure.slug not in filters:
        return ""
    url = reverse("admin:assistant_conversation_changelist")
    return f"{url}?assistant__id__exact={asked.assistant.pk}&{filters[asked.measure.slug]}"


def _shown_change(entry: AuditEntry, numbers: dict[Any, int], tenant: Tenant) -> dict[str, Any]:
    day = entry.created_at.astimezone(UTC).date()
    number = numbers.setdefault(day, len(numbers) + 1)
    return {
        "day": day,
        "number": number,
        "action": entry.action,
        "at": entry.created_at,
        "title": action_title(entry.action),
        "target": entry.target,
        "values": sentence_of_entry(entry),
        "actor": entry.actor,
    }


def _chart(asked: QualityRequest, days: Sequence[DayOfSums], changes: Sequence[dict[str, Any]]) -> SafeString:
    measure = asked.measure
    places = {day.day: place for place, day in enumerate(days)}
    titles: dict[int, list[str]] = {}
    for change in changes:
        titles.setdefault(change["number"], []).append(f"{change['title']}: {change['target']}")
    numbers = {change["number"]: places[change["day"]] for change in changes}
    page = what_changed_of(asked)
    marks = [Mark(place, number, "; ".join(titles[number][:5]), page) for number, place in numbers.items()]
    points = [
        Point(
            date_format(day.day, "MONTH_DAY_FORMAT"),
            measure.value(day.sums),
            measure.value(day.earlier),
            _("%(date)s: %(value)s of %(runs)d runs")
            % {
                "date": date_format(day.day, "SHORT_DATE_FORMAT"),
                "value": shown(measure, day.sums),
                "runs": day.sums["runs"],
            },
            _("before: %(value)s") % {"value": shown(measure, day.earlier)} if day.earlier["runs"] else "",
        )
        for day in days
    ]
    name = _("%(measure)s on each of the last %(days)d days, and in the period before") % {
        "measure": measure.name,
        "days": asked.period.days,
    }
    axis = settings.ASSISTANT_CURRENCY if measure.unit == "cost" else ""
    return line_chart(points, name=name, unit=unit_of(measure), axis=axis, marks=marks)


def _warnings(asked: QualityRequest) -> list[dict[str, Any]]:
    if asked.tenant is None:
        return []
    rows = QualityWarning.objects.filter(tenant=asked.tenant, day__gte=asked.period.first).select_related("assistant")
    if asked.assistant is not None:
        rows = rows.filter(assistant=asked.assistant)
    names = {measure.slug: measure.name for measure in MEASURES}
    return [
        {
            "day": one.day,
            "assistant": one.assistant.name,
            "measure": names.get(one.measure, one.measure),
            "share": one.share / 10,
            "earlier_share": one.earlier_share / 10,
            "runs": one.runs,
            "url": what_changed_url(assistant_id=one.assistant_id),
        }
        for one in rows[:WARNINGS]
    ]

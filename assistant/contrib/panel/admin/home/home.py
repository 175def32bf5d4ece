"""The first page of the control panel, its figures as CSV, and the list of all models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import administered, is_operator, picked_tenant
from assistant.contrib.panel.admin.base.action_titles import action_title
from assistant.contrib.panel.admin.base.charts import Point, bar_chart
from assistant.contrib.panel.admin.base.csv_file import csv_response
from assistant.contrib.panel.admin.base.job_titles import job_title
from assistant.contrib.panel.admin.base.picker import reported_tenants
from assistant.contrib.panel.admin.lists.cells import in_currency
from assistant.contrib.panel.reports.days import Day
from assistant.contrib.panel.reports.home import HomeReport, home_report, last_changes
from assistant.contrib.panel.reports.needs import Item, Need, needs
from assistant.models import AuditEntry, Tenant

# For each kind: the sentence, the page that lists all items, and the page of one item.
_KINDS: dict[str, tuple[Callable[[int], str], str, str | Callable[[Any], str]]] = {
    "approval": (
        lambda n: ngettext("%(n)s tool call waits for approval", "%(n)s tool calls wait for approval", n),
        "assistant_approval_changelist",
        "assistant_approval_change",
    ),
    "tool-off": (
        lambda n: ngettext("%(n)s tool is off for everyone", "%(n)s tools are off for everyone", n),
        "switchboard",
        "tool_page",
    ),
    "incident": (
        lambda n: ngettext("%(n)s incident is not resolved", "%(n)s incidents are not resolved", n),
        "assistant_incident_changelist",
        "assistant_incident_change",
    ),
    "limit-reached": (
        lambda n: ngettext("%(n)s limit is used up and refuses", "%(n)s limits are used up and refuse", n),
        "assistant_tenant_changelist",
        "assistant_tenant_spend",
    ),
    "limit": (
        lambda n: ngettext("%(n)s limit is nearly used up", "%(n)s limits are nearly used up", n),
        "assistant_tenant_changelist",
        "assistant_tenant_spend",
    ),
    "stand-in": (
        lambda n: ngettext(
            "%(n)s assistant has no language model, and the stand-in answers",
            "%(n)s assistants have no language model, and the stand-in answers",
            n,
        ),
        "assistant_provider_changelist",
        "assistant_assistant_change",
    ),
    "secret": (
        lambda n: ngettext("%(n)s tool lacks a secret", "%(n)s tools lack a secret", n),
        "assistant_toolsetting_changelist",
        "assistant_toolsetting_change",
    ),
    "unreadable-toolsetting": (
        lambda n: ngettext(
            "%(n)s tool has secrets that ASSISTANT_FIELD_ENCRYPTION_KEYS cannot decrypt",
            "%(n)s tools have secrets that ASSISTANT_FIELD_ENCRYPTION_KEYS cannot decrypt",
            n,
        ),
        "assistant_toolsetting_changelist",
        "assistant_toolsetting_change",
    ),
    "unreadable-provider": (
        lambda n: ngettext(
            "%(n)s provider has a key that ASSISTANT_FIELD_ENCRYPTION_KEYS cannot decrypt",
            "%(n)s providers have keys that ASSISTANT_FIELD_ENCRYPTION_KEYS cannot decrypt",
            n,
        ),
        "assistant_provider_changelist",
        "assistant_provider_change",
    ),
    "publication": (
        lambda n: ngettext("%(n)s scheduled publication has failed", "%(n)s scheduled publications have failed", n),
        "assistant_job_changelist",
        "assistant_job_change",
    ),
    "job": (
        lambda n: ngettext("%(n)s job has failed", "%(n)s jobs have failed", n),
        "assistant_job_changelist",
        "assistant_job_change",
    ),
}


# Kinds from which people suffer now.
_URGENT = {"limit-reached"}
# Those whose things are named beside the sentence, and how many of them.
_NAMED: set[str] = set()
MAX_NAMES = 3


def describe_need(
    kind: str,
    *,
    sentence: Callable[[int], str],
    every: str,
    page: str | Callable[[Any], str],
    is_urgent: bool = False,
    is_named: bool = False,
) -> None:
    """Say how pages show a kind of need that `assistant.contrib.panel.reports.needs.look_for` has added.

    Args:
        sentence: returns the sentence for a number of them, with `%(n)s` in its place.
        every: the name of the admin's URL of the page that lists all.
        page: that of the page of one, or a function that returns the address of one by its key.
        is_urgent: people suffer from it now.
        is_named: the first of them are named beside the sentence, by what stands before a colon in their names.
    """
    if is_urgent:
        _URGENT.add(kind)
    if is_named:
        _NAMED.add(kind)
    _KINDS[kind] = (sentence, every, page)


def context(request: HttpRequest) -> dict[str, Any]:
    """Return what the first page shows to a user, of the picked tenant or of all that they may see."""
    tenants, zone = reported_tenants(request), _zone(request)
    own = (
        None
        if is_operator(request) or tenants.ids is None or len(tenants.ids) != 1
        else Tenant.objects.filter(pk__in=tenants.ids).first()
    )
    report = home_report(tenants=tenants, now=timezone.now(), zone=zone)
    return {
        **({} if own is None else {"title": own.name}),
        "report": report,
        "zone": zone.key,
        "needs": [shown_need(need) for need in needs(tenants=tenants, now=timezone.now())],
        "chart": chart_of(report),
        "days_csv": reverse("admin:days_csv"),
        "changes": shown_changes(last_changes(tenants=tenants)),
    }


def is_for(request: HttpRequest) -> bool:
    """Return whether the first page is for a user: an operator, or somebody who administers a tenant."""
    return is_operator(request) or bool(administered(request))


def _zone(request: HttpRequest) -> ZoneInfo:
    """Return the picked tenant's time zone, else the site's."""
    picked = picked_tenant(request)
    return ZoneInfo(picked.timezone if picked is not None else timezone.get_default_timezone_name())


def shown_need(need: Need) -> dict[str, Any]:
    """Return what a page shows about things of one kind that wait for a person."""
    sentence, every, page = _KINDS[need.kind]
    number = f"{need.count}+" if need.has_more else str(need.count)
    items = [(_shown_name(item), item.tenant, _address(page, item.key)) for item in need.items]
    # People suffer from these: the sentence names the first of them, which a phone would show further below.
    names = list(dict.fromkeys(item.name.partition(":")[0] for item in need.items)) if need.kind in _NAMED else []
    return {
        "is_urgent": need.kind in _URGENT,
        "sentence": sentence(need.count) % {"n": number},
        "names": names[:MAX_NAMES],
        # One thing is named, and its own page settles it.
        "url": items[0][2] if need.count == 1 else reverse(f"admin:{every}"),
        "items": items,
        "is_cut": need.count > len(need.items),
    }


def _address(page: str | Callable[[Any], str], key: int | str) -> str:
    return reverse(f"admin:{page}", args=[key]) if isinstance(page, str) else page(key)


def _shown_name(item: Item) -> str:
    if item.refused_at is not None:
        at = date_format(timezone.localtime(item.refused_at), "SHORT_DATETIME_FORMAT")
        return _("%(limit)s, refused since %(at)s") % {"limit": item.name, "at": at}
    return f"{job_title(item.job)}: {item.name}" if item.job else item.name


def shown_changes(entries: Iterable[AuditEntry]) -> list[tuple[AuditEntry, str]]:
    """Return entries of the audit trail, each with what was done in words."""
    return [(entry, action_title(entry.action)) for entry in entries]


def chart_of(report: HomeReport) -> SafeString:
    """Return the days of a report as a chart."""
    name = _("Runs on each of the last %(days)s days, with those that failed") % {"days": len(report.days)}
    return bar_chart([_point(*pair) for pair in zip(report.days, report.earlier, strict=True)], name=name)


def _point(day: Day, earlier: Day) -> Point:
    label = date_format(day.date, "MONTH_DAY_FORMAT")
    return Point(label, day.runs, earlier.runs, _in_words(day), _in_words(earlier), marked=day.failed)


def _in_words(day: Day) -> str:
    date = date_format(day.date, "SHORT_DATE_FORMAT")
    return _("%(date)s: %(runs)s runs, %(failed)s failed") % {"date": date, "runs": day.runs, "failed": day.failed}


def days_as_csv(request: HttpRequest) -> HttpResponse:
    """Return the days of the first page as a CSV file."""
    return csv_of_days(home_report(tenants=reported_tenants(request), now=timezone.now(), zone=_zone(request)))


def csv_of_days(report: HomeReport) -> HttpResponse:
    """Return the days of a report as a CSV file."""
    rows = [(day.date.isoformat(), day.runs, day.failed, f"{day.cost:.6f}") for day in report.days]
    return csv_response("days", [_("Day"), _("Runs"), _("Failed"), in_currency(_("Cost"))], rows)


def advanced(request: HttpRequest) -> HttpResponse:
    """Show the lists of all models that the user may see."""
    context = {
        **admin.site.each_context(request),
        "title": _("Advanced"),
        "app_list": admin.site.get_app_list(request),
    }
    return TemplateResponse(request, "admin/assistant/panel/advanced.html", context)

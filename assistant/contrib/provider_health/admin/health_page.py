"""The page *Us or the provider?*: what fails now and whose failure it is, how models answered, outages, fallbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.db.models import Count, F, Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator
from assistant.contrib.panel.admin.base.charts import Point, line_chart
from assistant.contrib.panel.admin.base.rooms import Link
from assistant.contrib.provider_health.services.answers import (
    RECENT,
    Answers,
    AskedModel,
    answers_by_hour,
    codes_of,
    of_all_assistants,
    recent_answers,
    seconds_of,
    sums,
)
from assistant.contrib.provider_health.services.outages import HOUR, outages
from assistant.contrib.provider_health.services.verdicts import Verdict, verdicts
from assistant.models import Assistant, Provider, Tenant
from assistant.services.assistants.provider_use import answering_assistants

URL_NAME = "provider_health"
PERIODS = (1, 7)
MAX_ROWS = 100
MAX_OUTAGES = 20
MAX_UNCOVERED = 20
Hours = Mapping[datetime, Mapping[AskedModel, Answers]]


def health_page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """Show operators whether the deployment or a provider fails, and how each model answered."""
    if not is_operator(request):
        raise PermissionDenied
    now = timezone.now()
    days = 7 if request.GET.get("days") == "7" else 1
    provider = _chosen(request)
    recent = recent_answers(now)
    since = now.replace(minute=0, second=0, microsecond=0) - timedelta(days=days) + HOUR
    hours = _of_provider(answers_by_hour(since), provider)
    found = [one for one in verdicts(recent) if one.asked is None or _is_of(one.asked, provider)]
    owners = Tenant.objects.in_bulk({asked.owner for of_hour in hours.values() for asked in of_hour if asked.owner})
    context = {
        **site.each_context(request),
        "title": _("Us or the provider?"),
        "subtitle": None,
        "provider": provider,
        "minutes": int(RECENT.total_seconds() // 60),
        "verdicts": _told(found),
        "recent": sum(
            (answers for asked, answers in of_all_assistants(recent).items() if _is_of(asked, provider)), Answers()
        ),
        "rows": _rows(hours, owners, now - timedelta(days=days)),
        "chart": _chart(hours, since, now),
        "hours": [(hour, sum(hours[hour].values(), Answers())) for hour in sorted(hours, reverse=True)],
        "outages": [(one, owners.get(one.asked.owner or 0)) for one in outages(hours)[:MAX_OUTAGES]],
        "codes": _codes(hours, now - timedelta(days=days)),
        "cover": _cover(provider),
        "periods": [
            Link(
                ngettext("%(count)d day", "%(count)d days", number) % {"count": number},
                f"?days={number}{f'&provider={provider.pk}' if provider else ''}",
                number == days,
            )
            for number in PERIODS
        ],
    }
    return TemplateResponse(request, "admin/assistant/provider_health/page.html", context)


def _chosen(request: HttpRequest) -> Provider | None:
    """Return the provider that the address names, of whatever tenant; None without one, or if there is no such."""
    given = request.GET.get("provider", "")
    return Provider.objects.filter(pk=int(given)).first() if given.isdecimal() and len(given) < 19 else None


def _is_of(asked: AskedModel, provider: Provider | None) -> bool:
    return provider is None or (asked.owner, asked.provider) == (provider.tenant_id, provider.name)


def _of_provider(hours: Hours, provider: Provider | None) -> Hours:
    narrowed = {
        hour: {asked: answers for asked, answers in of_hour.items() if _is_of(asked, provider)}
        for hour, of_hour in hours.items()
    }
    return {hour: of_hour for hour, of_hour in narrowed.items() if of_hour}


def _told(found: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Return each verdict in words: what it is, what to do, and the page where that is done."""
    ids = [one.assistant_id for one in found if one.assistant_id is not None]
    assistants = Assistant.objects.select_related("tenant").in_bulk(ids)
    return [_in_words(one, assistants.get(one.assistant_id or 0)) for one in found]


def _in_words(one: Verdict, assistant: Assistant | None) -> dict[str, Any]:
    if one.asked is None:
        shown = {"failed": one.answers.own, "runs": one.answers.runs}
        return {
            "title": _("It is us."),
            "text": _("%(failed)d of %(runs)d runs ended with an error of this deployment, whatever model was asked.")
            % shown,
            "advice": _("Look into the log, at the database and its disk, and at what was deployed last."),
            "url": reverse("admin:assistant_job_changelist"),
            "link": _("Jobs"),
        }
    name = {"provider": one.asked.provider, "model": one.asked.model}
    text = _("%(failed)d of %(runs)d runs were not answered by %(model)s of %(provider)s.") % {
        "failed": one.answers.unanswered,
        "runs": one.answers.runs,
        **name,
    }
    if one.answers.taken_over:
        text += " " + _("Another model answered %(count)d of them.") % {"count": one.answers.taken_over}
    page = {"text": text, "url": _settings_of(one.asked), "link": _("Settings of %(provider)s") % name}
    if one.cause == "assistant" and assistant is not None:
        return page | {
            "title": _("It is one assistant: %(assistant)s of %(tenant)s.")
            % {"assistant": assistant.name, "tenant": assistant.tenant.name},
            "advice": _(
                "The same model answers others. Look at its instructions, tools and files, and at its last changes."
            ),
            "url": reverse("admin:assistant_assistant_change", args=[assistant.pk]),
            "link": assistant.name,
        }
    told = {
        "account": (
            _("It is your account at %(provider)s.") % name,
            _("It has no credit left, or may spend no more. Pay there, or raise the limit."),
        ),
        "limits": (
            _("%(provider)s refuses: too many requests.") % name,
            _("Ask the provider for higher limits, give a fallback model, or let fewer runs go on at once."),
        ),
    }
    title, advice = told.get(
        one.cause,
        (
            _("It is the provider: %(provider)s.") % name,
            _("Look at its status page, and test the key. Until it answers again, a fallback model can."),
        ),
    )
    return page | {"title": title, "advice": advice}


def _settings_of(asked: AskedModel) -> str:
    provider = Provider.objects.filter(tenant=asked.owner, name=asked.provider).first()
    if provider is None:
        return reverse("admin:assistant_provider_changelist")
    return reverse("admin:assistant_provider_change", args=[provider.pk])


def _rows(hours: Hours, owners: Mapping[int, Tenant], since: datetime) -> list[dict[str, Any]]:
    """Return a row for each model, those with the largest part of unanswered runs first."""
    total = sums(part for of_hour in hours.values() for part in of_hour.items())
    times = seconds_of(since)
    return [
        {
            "asked": asked,
            "owner": owners.get(asked.owner or 0),
            "answers": answers,
            "share": 100 * answers.unanswered / answers.runs,
            "first": _middle(times.get(asked, ([], []))[0]),
            "slow": _slow(times.get(asked, ([], []))[0]),
            "whole": _middle(times.get(asked, ([], []))[1]),
        }
        for asked, answers in sorted(total.items(), key=_by_share)[:MAX_ROWS]
    ]


def _by_share(row: tuple[AskedModel, Answers]) -> tuple[float, int]:
    answers = row[1]
    return -answers.unanswered / answers.runs, -answers.runs


def _middle(seconds: Sequence[float]) -> float | None:
    return median(seconds) if seconds else None


def _slow(seconds: Sequence[float]) -> float | None:
    """Return the 95th percentile of ascending seconds."""
    return seconds[int(0.95 * (len(seconds) - 1))] if seconds else None


def _chart(hours: Hours, since: datetime, now: datetime) -> str:
    points = []
    for number in range(int((now - since) / HOUR) + 1):
        hour = since + number * HOUR
        answers = sum(hours.get(hour, {}).values(), Answers())
        at = date_format(timezone.localtime(hour), "DATETIME_FORMAT")
        share = 100 * answers.unanswered / answers.runs if answers.runs else None
        told = _("%(at)s: %(failed)d of %(runs)d runs") % {"at": at, "failed": answers.unanswered, "runs": answers.runs}
        points.append(Point(date_format(timezone.localtime(hour), "H:i"), share, None, told))
    return line_chart(points, name=_("Runs that no model answered at first, in per cent, by the hour"), unit="%")


def _codes(hours: Hours, since: datetime) -> list[tuple[str, str, str]]:
    """Return the codes that runs ended with, how often, and the list of these runs."""
    asked = list({asked for of_hour in hours.values() for asked in of_hour})
    runs = reverse("admin:assistant_run_changelist")
    return [
        (code, number_format(count, use_l10n=True, force_grouping=True), f"{runs}?error_code={code}")
        for code, count in codes_of(since, asked=asked).items()
    ]


def _cover(provider: Provider | None) -> dict[str, Any]:
    """Return what takes over: how many active assistants have a fallback, and the first of those that have none."""
    active = answering_assistants().filter(is_active=True, tenant__is_active=True, answering__isnull=False)
    if provider is not None:
        active = active.filter(answering=provider.pk)
    has_fallback = Q(fallback_provider__isnull=False) | Q(tenant__fallback_provider__isnull=False)
    counts = active.aggregate(assistants=Count("pk"), covered=Count("pk", filter=has_fallback))
    bare = active.exclude(has_fallback).order_by("tenant__name", "name").annotate(tenant_name=F("tenant__name"))
    return counts | {
        "bare": [
            (name, tenant_name, reverse("admin:assistant_assistant_change", args=[pk]))
            for pk, name, tenant_name in bare.values_list("pk", "name", "tenant_name")[:MAX_UNCOVERED]
        ],
        "bare_count": counts["assistants"] - counts["covered"],
    }

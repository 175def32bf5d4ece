"""The page "What changed?": what became worse, the changes that fit, conversations that show it, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from assistant.admin.base.changes import sentence_of_entry
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, tenants_of
from assistant.contrib.insights.admin.request import (
    PERMISSION,
    QualityRequest,
    named_tenant,
    read_request,
    what_changed_url,
)
from assistant.contrib.insights.admin.take_back import difference_back, number_before, way_back
from assistant.contrib.insights.admin.what_changed_words import (
    FITS_WELL,
    fit_of,
    of_runs,
    percent,
    place_of,
    sentence_of,
    title_of_seen,
)
from assistant.contrib.insights.models import DaySum
from assistant.contrib.insights.services.examples import runs_that_show
from assistant.contrib.insights.services.reports import Period
from assistant.contrib.insights.services.suspects import Suspect
from assistant.contrib.insights.services.traces import places
from assistant.contrib.insights.services.what_changed import Explained, explain
from assistant.contrib.panel.admin.assistants.assistant_pages import frame_of
from assistant.contrib.panel.admin.assistants.assistant_tabs import AssistantTab
from assistant.contrib.panel.admin.base.action_titles import action_title
from assistant.contrib.panel.admin.base.charts import Mark, Point, line_chart
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, may_show
from assistant.contrib.panel.admin.base.rooms import Link
from assistant.models import AuditEntry, Run

# How far back the page looks, and so many places where a finding shows are named.
DAYS = 90
MAX_PLACES = 2
# Other assistants with the same cause that are named.
MAX_NAMES = 6
# Where changes are looked at that are taken back elsewhere, by what their action begins with; the addresses of lists.
_LISTS: Mapping[str, str] = {
    "document": "assistant_document_changelist",
    "provider": "assistant_provider_changelist",
    "promptvariable": "assistant_promptvariable_changelist",
}


def tab_url(assistant_id: int) -> str:
    """Return the address of the page of an assistant."""
    return what_changed_url(assistant_id=assistant_id)


TAB = AssistantTab("what-changed", gettext_lazy("What changed?"), tab_url, PERMISSION)


@require_safe
def what_changed_view(request: HttpRequest) -> HttpResponse:
    """Show what became worse of an assistant, of a tenant, or of all tenants that the user may see."""
    asked = read_request(request, now=timezone.now(), tenant=named_tenant(request))
    found = explain(asked.rows, period=Period(last=asked.period.last, days=DAYS), is_of_all=asked.tenant is None)
    shown = [_shown(request, asked, number, one) for number, one in enumerate(found, 1)]
    every = [one for finding in shown for one in finding["suspects"][:1] if one["is_sure"] and one["way"]]
    context = {
        **admin.site.each_context(request),
        "title": _("What changed?"),
        "subtitle": None,
        "opts": DaySum._meta,
        "asked": asked,
        "findings": shown,
        "days": DAYS,
        "take_back": reverse("admin:what_changed_take_back"),
        "all_at_once": every if len(every) > 1 else [],
        "here": request.get_full_path(),
        "quality": _quality_url(asked),
        **({} if asked.assistant is None else frame_of(request, asked.assistant, TAB)),
    }
    return TemplateResponse(request, "admin/assistant/insights/what_changed.html", context)


def _quality_url(asked: QualityRequest) -> str:
    if asked.assistant is None and asked.tenant is not None:
        return reverse("admin:assistant_tenant_quality", args=[asked.tenant.pk])
    url = reverse("admin:assistant_insights_daysum_changelist")
    return f"{url}?assistant={asked.assistant.pk}" if asked.assistant is not None else url


def _shown(request: HttpRequest, asked: QualityRequest, number: int, one: Explained) -> dict[str, Any]:
    finding = one.finding
    step = finding.step
    slope = finding.slope if one.is_drift else None
    before = step.before if slope is None else slope.before
    since = step.since if slope is None else slope.since
    runs = _examples(request, one)
    suspects = [_shown_suspect(request, one, suspect, runs) for suspect in one.suspects]
    return {
        "number": number,
        "is_tenants_own": asked.tenant is not None,
        "assistants": one.assistants[:MAX_NAMES],
        "more": max(0, len(one.assistants) - MAX_NAMES),
        "tenants": len({assistant.tenant_id for assistant in one.assistants}),
        "measure": finding.measure,
        "day": one.day,
        "last": finding.last,
        "is_over": step.is_over,
        "is_drift": one.is_drift,
        "before": percent(before),
        "since": percent(since),
        "counts": (of_runs(before), of_runs(since)),
        "also": [
            (measure.name, percent(other.before), percent(other.since)) for measure, other in finding.measures[1:]
        ],
        "places": [place_of(*place) for place in places(finding)[:MAX_PLACES]],
        "chart": _chart(one),
        "suspects": suspects,
        "examples": [_example(request, run) for run in runs] if runs is not None else None,
        "evaluation": _evaluation_url(one, runs),
    }


def _chart(one: Explained) -> SafeString:
    finding = one.finding
    measure = finding.measure
    first = finding.step.past
    points = []
    for day, share in zip(
        finding.days[first : finding.step.end], finding.series[first : finding.step.end], strict=True
    ):
        title = _("%(date)s: %(value)s") % {"date": date_format(day, "SHORT_DATE_FORMAT"), "value": of_runs(share)}
        points.append(
            Point(date_format(day, "MONTH_DAY_FORMAT"), 100 * share.part if share.runs else None, None, title)
        )
    place = (one.day - finding.days[first]).days
    name = _("%(measure)s on each day before and since") % {"measure": measure.name}
    marks = [Mark(place, 1, date_format(one.day, "SHORT_DATE_FORMAT"))] if 0 <= place < len(points) else []
    return line_chart(points, name=name, unit=" %", marks=marks)


def _shown_suspect(
    request: HttpRequest, one: Explained, suspect: Suspect, runs: Sequence[Run] | None
) -> dict[str, Any]:
    entry = suspect.entry
    kind, words = fit_of(suspect)
    shown: dict[str, Any] = {
        "kind": kind,
        "fit": words,
        "is_sure": suspect.score >= FITS_WELL,
        "reasons": [sentence for trace in suspect.traces if (sentence := sentence_of(trace))],
        "entry": entry,
        "way": None,
        "difference": None,
        "links": [],
    }
    if entry is None:
        return {**shown, "title": title_of_seen(suspect)}
    # What the deployment's operators did is named to tenants, and not who did it.
    is_own = entry.tenant_id is not None or is_operator(request)
    way = way_back(request, entry)
    return {
        **shown,
        "title": f"{action_title(entry.action)}: {entry.target}",
        "values": sentence_of_entry(entry) if is_own else "",
        "actor": entry.actor if is_own else None,
        "way": way,
        "difference": difference_back(entry) if way == "prompt" else None,
        "links": _links(one, entry, runs),
    }


def _links(one: Explained, entry: AuditEntry, runs: Sequence[Run] | None) -> list[Link]:
    """Return where a change is looked at and compared."""
    beginning = entry.action.partition(".")[0]
    assistant = one.assistant
    if entry.action == "prompt.publish":
        new = entry.target.rpartition(" v")[2]
        old = number_before(entry)
        url = f"{reverse('admin:prompt_compare', args=[assistant.pk])}?{urlencode({'old': old or '', 'new': new})}"
        compared = _evaluation_url(one, runs, version=old)
        return [
            Link(_("Compare the texts"), url),
            *([Link(_("Compare on those"), compared)] if compared and old is not None else ()),
        ]
    if beginning == "tool":
        return [Link(_("Switchboard"), reverse("admin:switchboard_of_tenant", args=[assistant.tenant.slug]))]
    if beginning == "assistant":
        return [Link(_("Settings"), reverse("admin:assistant_assistant_change", args=[assistant.pk]))]
    if beginning in ("limits", "tenantlimits"):
        return [Link(_("Limits"), reverse("admin:assistant_tenant_spend", args=[assistant.tenant_id]))]
    if beginning == "tenant":
        return [Link(_("Settings"), reverse("admin:assistant_tenant_change", args=[assistant.tenant_id]))]
    return [Link(_("Look at it"), reverse(f"admin:{_LISTS[beginning]}"))] if beginning in _LISTS else []


def _evaluation_url(one: Explained, runs: Sequence[Run] | None, *, version: int | None = None) -> str:
    """Return the address that asks these questions again; "" without evaluations or without questions."""
    is_there = apps.is_installed("assistant.contrib.evaluations") and settings.ASSISTANT_PROMPT_TESTS
    own = [run for run in runs or () if run.assistant_id == one.assistant.pk]
    if not is_there or not own:
        return ""
    query = {"runs": ",".join(str(run.pk) for run in own)}
    if version is not None:
        query["version"] = str(version)
    return f"{reverse('admin:new_evaluation', args=[one.assistant.pk])}?{urlencode(query)}"


def _examples(request: HttpRequest, one: Explained) -> list[Run] | None:
    """Return runs that show a finding; None for those who may not read chats of the tenant."""
    tenant = one.assistant.tenant_id
    if not is_operator(request) and not tenants_of(request, "read_chats").filter(pk=tenant).exists():
        return None
    return runs_that_show(one.finding, tenant_id=tenant, suspect=one.suspects[0] if one.suspects else None)


def _example(request: HttpRequest, run: Run) -> dict[str, Any]:
    """Return what a list shows of a run: its conversation's page asks for the reason where one is needed."""
    conversation = run.conversation
    is_shown = may_show(request, conversation)
    return {
        "name": str(conversation) if is_shown else f"{str(conversation.pk)[:8]} ({HIDDEN})",
        "url": reverse("admin:assistant_conversation_change", args=[conversation.pk]),
        "at": run.started_at,
        "state": run.get_status_display(),
        "error": run.error_code,
    }

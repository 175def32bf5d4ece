"""The improvement desk: the list of groups of what goes wrong, and the page of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.formats import date_format
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_protect

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import is_operator, permitted_of, tenants_of
from assistant.admin.prompts import problems_of
from assistant.contrib.improvements.admin.proposals import About, line_of, proposals_of
from assistant.contrib.improvements.admin.words import ABOUT, MEASURES, VERDICTS, cases_of_week, title_of, value_of
from assistant.contrib.improvements.models import Annotation, ProblemCase, ProblemGroup, Signature
from assistant.contrib.improvements.services.groups import (
    ASKED_AGAIN,
    DAYS,
    LEAST_CASES,
    LEAST_CONVERSATIONS,
    MAX_LINE,
    SHOWN_CASES,
    Line,
    cases_of,
    days_of,
    draft_against,
    extent_of,
    lines_of,
    newest_questions,
    set_state,
)
from assistant.contrib.improvements.services.outcomes import outcome_of
from assistant.contrib.panel.admin.assistants.assistant_pages import frame_of
from assistant.contrib.panel.admin.assistants.assistant_tabs import AssistantTab
from assistant.contrib.panel.admin.assistants.prompt_editor import editor_url
from assistant.contrib.panel.admin.base.charts import Point, line_chart
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, may_show, shown_in_lists
from assistant.contrib.panel.admin.base.page_of_rows import PageOfRows
from assistant.contrib.panel.admin.base.picker import reported_tenants
from assistant.contrib.panel.admin.base.rooms import Link
from assistant.models import Assistant, PromptVersion
from assistant.services.assistants.prompt_values import UnknownVariables
from assistant.toolkit.text import clean_text

# What a custom role needs to allow for these pages; texts of conversations need another one.
PERMISSION = "prompts"
READING = "read_chats"
LIST = "admin:assistant_improvements_problemgroup_changelist"


def tab_url(assistant_id: int) -> str:
    """Return the address of the desk of an assistant."""
    return f"{reverse(LIST)}?assistant={assistant_id}"


TAB = AssistantTab("improvements", gettext_lazy("Improvements"), tab_url, PERMISSION)


@admin.register(ProblemGroup)
class ProblemGroupAdmin(PageOfRows):
    """In place of the list of rows stands the desk; groups are made by the program."""

    permission = PERMISSION

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("", wrap(self.changelist_view), name="assistant_improvements_problemgroup_changelist"),
            path("<int:pk>/change/", wrap(self.group_view), name="assistant_improvements_problemgroup_change"),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the groups of an assistant, of the picked tenant, or of all that the user may see."""
        if not _may_see(request):
            raise PermissionDenied
        assistant = _assistant(request)
        tenants = reported_tenants(request, PERMISSION)
        rows = tenants.rows(ProblemGroup.objects.all())
        if assistant is not None:
            rows = ProblemGroup.objects.filter(tenant=assistant.tenant_id, assistant=assistant)
        state = request.GET.get("state", "")
        state = state if state in ProblemGroup.State.values else ProblemGroup.State.OPEN
        signature = request.GET.get("signature", "")
        signature = signature if signature in Signature.values else ""
        now = timezone.now()
        every = lines_of(rows, now=now, state=state)
        shown = [line for line in every if not signature or line.group.signature == signature]
        questions = newest_questions([line.group for line in shown], _readable(request)) if shown else {}
        context = {
            **self.admin_site.each_context(request),
            "title": _("Improvements"),
            "subtitle": None,
            "opts": ProblemGroup._meta,
            "asked_assistant": assistant,
            "is_of_one_tenant": assistant is not None or (tenants.ids is not None and len(tenants.ids) == 1),
            "states": _states(request, state),
            "signatures": _signatures(request, every, signature),
            "lines": [_shown_line(line, questions) for line in shown],
            "state": state,
            "days": DAYS,
            "least": LEAST_CASES,
            "least_conversations": LEAST_CONVERSATIONS,
            "annotations": reverse("admin:assistant_improvements_annotation_changelist"),
            **({} if assistant is None else frame_of(request, assistant, TAB)),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/assistant/improvements/desk.html", context)

    @method_decorator(csrf_protect)
    def group_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show a group with its cases and what could help, or do what the button that was pressed says."""
        group = _group(request, pk)
        if request.method == "POST":
            return HttpResponseRedirect(_act(request, group))
        may_read = _may_read(request, group.tenant_id)
        cases = list(cases_of(group)[:SHOWN_CASES])
        readable = [case for case in cases if may_read and may_show(request, case.run.conversation)]
        newest = readable[0] if readable else ProblemCase()
        about = About(request, group, newest.question, newest.detail)
        context = {
            **self.admin_site.each_context(request),
            "opts": ProblemGroup._meta,
            **frame_of(request, group.assistant, TAB),
            "title": title_of(group),
            "subtitle": None,
            "group": group,
            "about": ABOUT[group.signature],
            "question": newest.question,
            "extent": extent_of(group),
            "chart": _chart(group),
            "line": line_of(about),
            "max_line": MAX_LINE,
            "proposals": proposals_of(about),
            "outcome": _outcome(group),
            "evaluation": _evaluation_url(group, readable, group.draft),
            "editor": None if group.draft is None else editor_url(group.assistant, version=group.draft.number),
            "may_read": may_read,
            "cases": _cases(group, cases, readable) if may_read else [],
            "days": DAYS,
            "desk": tab_url(group.assistant_id),
        }
        return TemplateResponse(request, "admin/assistant/improvements/group.html", context)


def _may_see(request: HttpRequest) -> bool:
    return is_operator(request) or bool(permitted_of(request).tenants(PERMISSION))


def _may_read(request: HttpRequest, tenant_id: int) -> bool:
    return tenants_of(request, READING).filter(pk=tenant_id).exists()


def _readable(request: HttpRequest) -> Q:
    """Return the condition of cases whose texts a list may show."""
    readable = shown_in_lists(request, "run__conversation")
    return readable if is_operator(request) else readable & Q(tenant__in=tenants_of(request, READING))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0


def _assistant(request: HttpRequest) -> Assistant | None:
    """Return the assistant that the address names. Raises `Http404` for another's."""
    if "assistant" not in request.GET:
        return None
    rows = Assistant.objects.filter(pk=_number(request.GET["assistant"]), tenant__in=tenants_of(request, PERMISSION))
    found = rows.select_related("tenant").first()
    if found is None:
        raise Http404("There is no such assistant.")
    return found


def _group(request: HttpRequest, pk: int) -> ProblemGroup:
    """Return a group. Raises `Http404` for another tenant's."""
    rows: QuerySet[ProblemGroup] = ProblemGroup.objects.filter(pk=pk, tenant__in=tenants_of(request, PERMISSION))
    rows = rows.select_related("tenant", "assistant__tenant", "draft", "changed_by")
    found = rows.first() if pk < 2**63 else None
    if found is None:
        raise Http404("There is no such group.")
    return found


def _query(request: HttpRequest, **values: str) -> str:
    kept = {name: request.GET[name] for name in ("assistant", "state", "signature") if name in request.GET}
    return f"?{urlencode({name: value for name, value in {**kept, **values}.items() if value})}"


def _states(request: HttpRequest, current: str) -> list[Link]:
    return [
        Link(str(name), _query(request, state=value, signature=""), value == current)
        for value, name in ProblemGroup.State.choices
    ]


def _signatures(request: HttpRequest, lines: Sequence[Line], current: str) -> list[tuple[Link, int]]:
    counts = Counter(line.group.signature for line in lines)
    found = [(Link(_("All"), _query(request, signature=""), not current), len(lines))]
    return found + [
        (Link(str(name), _query(request, signature=value), value == current), counts[value])
        for value, name in Signature.choices
        if counts[value] or value == current
    ]


def _shown_line(line: Line, questions: dict[int, str]) -> dict[str, Any]:
    group = line.group
    return {
        "it": line,
        "group": group,
        "title": title_of(group),
        "url": reverse("admin:assistant_improvements_problemgroup_change", args=[group.pk]),
        "question": questions.get(group.pk, ""),
        "is_more": line.cases > line.earlier,
    }


def _cases(group: ProblemGroup, cases: Sequence[ProblemCase], readable: Sequence[ProblemCase]) -> list[dict[str, Any]]:
    rows = Annotation.objects.filter(tenant=group.tenant_id, run__in=[case.run_id for case in cases])
    annotations = {row.run_id: row for row in rows}
    shown = {case.pk for case in readable}
    return [
        {
            "it": case,
            "is_shown": case.pk in shown,
            "hidden": HIDDEN,
            "url": _run_url(case),
            "annotation": annotations.get(case.run_id),
        }
        for case in cases
    ]


def _run_url(case: ProblemCase) -> str:
    url = reverse("admin:assistant_conversation_change", args=[case.run.conversation_id])
    return f"{url}?run={case.run_id}#annotate-{case.run_id}"


def _chart(group: ProblemGroup) -> SafeString:
    points = [
        Point(
            date_format(day, "MONTH_DAY_FORMAT"),
            number,
            None,
            _("%(date)s: %(value)s") % {"date": date_format(day, "SHORT_DATE_FORMAT"), "value": number},
        )
        for day, number in days_of(group, last=timezone.now().astimezone(UTC).date())
    ]
    return line_chart(points, name=_("Cases on each day"))


def _outcome(group: ProblemGroup) -> dict[str, Any] | None:
    """Return for the template whether a change helped."""
    found = outcome_of(group, now=timezone.now())
    if found is None:
        return None
    has_figure = found.before.value is not None or found.since.value is not None
    return {
        "it": found,
        "verdict": VERDICTS[found.verdict],
        "cases": (cases_of_week(found.before), cases_of_week(found.since)),
        "measure": MEASURES[found.measure] if has_figure else "",
        "values": (value_of(found.measure, found.before.value), value_of(found.measure, found.since.value)),
    }


def _evaluation_url(group: ProblemGroup, cases: Sequence[ProblemCase], version: PromptVersion | None) -> str:
    """Return the address that asks the questions of cases again; "" without evaluations or without questions."""
    is_there = apps.is_installed("assistant.contrib.evaluations") and settings.ASSISTANT_PROMPT_TESTS
    runs = [str(case.run_id) for case in cases if case.question][:ASKED_AGAIN]
    if not is_there or not runs:
        return ""
    query = {"runs": ",".join(runs)} | ({} if version is None else {"version": str(version.number)})
    return f"{reverse('admin:new_evaluation', args=[group.assistant_id])}?{urlencode(query)}"


def _act(request: HttpRequest, group: ProblemGroup) -> str:
    """Do what the pressed button says; return the page to go on to. Raises `Http404` for no button of the page."""
    do = request.POST.get("do", "")
    if do in ("draft", "draft-run"):
        return _draft(request, group, is_run=do == "draft-run")
    if do not in ProblemGroup.State.values:
        raise Http404("There is no such action.")
    set_state(group=group, state=do, actor=request.user)
    texts = {
        ProblemGroup.State.CHANGED: _("Noted. In seven days this page says whether it helped."),
        ProblemGroup.State.LEFT: _("Left as it is. It is in the list “Left as it is”, and still counted."),
        ProblemGroup.State.OPEN: _("It is open again."),
    }
    messages.success(request, texts[ProblemGroup.State(do)])
    return request.get_full_path()


def _draft(request: HttpRequest, group: ProblemGroup, *, is_run: bool) -> str:
    line = clean_text(request.POST.get("line", "")).strip()[:MAX_LINE]
    if not line:
        messages.warning(request, _("Write the line that the prompt is to have."))
        return request.get_full_path()
    try:
        version = draft_against(group=group, line=line, actor=request.user)
    except UnknownVariables as exc:
        messages.error(request, " ".join(problems_of(exc)))
        return request.get_full_path()
    text = _("Version %(number)s is a draft, with your line at its end.")
    messages.success(request, text % {"number": version.number})
    if is_run and _may_read(request, group.tenant_id):
        cases = [case for case in cases_of(group)[:SHOWN_CASES] if may_show(request, case.run.conversation)]
        url = _evaluation_url(group, cases, version)
        if url:
            return url
    return editor_url(group.assistant, version=version.number)

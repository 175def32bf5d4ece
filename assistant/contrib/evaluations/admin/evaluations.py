"""The list of evaluations, and the page of each, with the answers of both prompts side by side."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.filters import TENANT, AssistantFilter
from assistant.admin.base.links import assistant_column, user_column
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.evaluations.admin.forms import is_shown, may_read_chats
from assistant.contrib.evaluations.admin.new_page import new_evaluation_view, page_of, try_run_view
from assistant.contrib.evaluations.admin.shown import shown_case, shown_sides
from assistant.contrib.evaluations.admin.try_as import URL_NAME, try_as_view
from assistant.contrib.evaluations.models import Evaluation, EvaluationCase
from assistant.contrib.evaluations.models.evaluations import MAX_EXPECTED, MAX_NOTE
from assistant.contrib.evaluations.services.evaluations.evaluations import (
    EvaluationRefused,
    begin,
    cancel,
    draft_of,
    expect,
    judge,
)
from assistant.contrib.evaluations.services.evaluations.figures import figures_of, progress_of
from assistant.contrib.panel.admin.assistants.prompt_editor import editor_url
from assistant.models import Assistant
from assistant.toolkit.text import clean_text

# Assistants that the page before a new evaluation lists.
MAX_ASSISTANTS = 200


@admin.register(Evaluation)
class EvaluationAdmin(TenantScopedAdmin):
    """Evaluations; those who may write prompts make, run and judge them, and read what chat reading allows."""

    permission = "prompts"
    possible_actions = frozenset({"view", "add", "delete"})
    tenant_admins_may = frozenset({"view", "add", "delete"})
    list_display = ("name", assistant_column, "tenant", "state", "questions", "author", "created_at", "ended_at")
    list_filter = (TENANT, AssistantFilter, "state", "created_at")
    search_fields = ("name", "assistant__name", "assistant__slug")
    list_select_related = ("assistant__tenant", "tenant", "created_by")
    author = user_column("created_by")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Evaluation]:
        rows: QuerySet[Evaluation] = super().get_queryset(request)
        return rows.annotate(number=Count("cases"))

    @admin.display(description=gettext_lazy("questions"), ordering="number")
    def questions(self, row: Any) -> int:
        return int(row.number)

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("new/<int:assistant>/", wrap(new_evaluation_view), name="new_evaluation"),
            path("try/<int:run>/", wrap(try_run_view), name="try_run"),
            path("try-as/<int:assistant>/", wrap(try_as_view), name=URL_NAME),
            *super().get_urls(),
        ]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Show the assistants of which an evaluation can be made; the only one's form at once."""
        assistants = Assistant.objects.filter(tenant__in=tenants_of(request, self.permission))
        found = list(assistants.select_related("tenant").order_by("tenant__slug", "slug")[:MAX_ASSISTANTS])
        if len(found) == 1:
            return HttpResponseRedirect(reverse("admin:new_evaluation", args=[found[0].pk]))
        context = self.admin_site.each_context(request) | {"title": _("New evaluation"), "assistants": found}
        return TemplateResponse(request, "admin/assistant/evaluations/choose.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Show an evaluation, or do what the button that was pressed says."""
        row: Evaluation = self.row_or_404(request, unquote(object_id), self.has_view_permission)
        if request.method == "POST":
            self._act(request, row)
            place = request.POST.get("do", "").partition(":")[2]
            return HttpResponseRedirect(f"{page_of(row)}#question-{place}" if place.isdigit() else page_of(row))
        cases = list(
            row.cases.select_related("conversation__tenant", "conversation__user", "judged_by")
            .prefetch_related("results")
            .order_by("position")
        )
        may_read = may_read_chats(request, row.assistant)
        figures, draft = figures_of(cases), draft_of(row)
        progress = progress_of(row, figures, has_draft=draft is not None)
        context = self.admin_site.each_context(request) | {
            "title": row.name,
            "opts": self.opts,
            "evaluation": row,
            "assistant": row.assistant,
            "draft": draft,
            "editor": editor_url(row.assistant),
            "figures": figures,
            "progress": progress,
            "sides": shown_sides(figures),
            "cases": [shown_case(case, is_shown=is_shown(request, case, may_read=may_read)) for case in cases],
            "verdicts": EvaluationCase.Verdict.choices,
            "max_note": MAX_NOTE,
            "max_expected": MAX_EXPECTED,
        }
        return TemplateResponse(request, "admin/assistant/evaluations/page.html", context | (extra_context or {}))

    def _act(self, request: HttpRequest, row: Evaluation) -> None:
        verb, _colon, argument = request.POST.get("do", "").partition(":")
        match verb:
            case "run":
                try:
                    begin(evaluation=row, actor=request.user)
                except EvaluationRefused as exc:
                    messages.error(request, str(exc))
            case "cancel":
                if not cancel(evaluation=row, actor=request.user):
                    messages.info(request, _("It has ended already."))
            case "judge" | "expect":
                self._judge(request, row, verb, argument)
            case _:
                raise Http404("There is no such action.")

    def _judge(self, request: HttpRequest, row: Evaluation, verb: str, position: str) -> None:
        """Store a judgement or an expectation. Raises `Http404` for a question that may not be read."""
        is_number = position.isascii() and position.isdigit() and len(position) < 9
        cases = row.cases.select_related("evaluation__assistant", "evaluation__tenant", "conversation__tenant")
        case = cases.filter(position=int(position)).first() if is_number else None
        if case is None or not is_shown(request, case, may_read=may_read_chats(request, row.assistant)):
            raise Http404("There is no such question.")
        given = request.POST
        if verb == "expect":
            tool = clean_text(given.get("expected_tool", "")).strip()[:128]
            text = clean_text(given.get("expected_text", "")).strip()[:MAX_EXPECTED]
            expect(case=case, tool=tool, text=text, actor=request.user)
            return
        verdict = given.get("verdict", "")
        if verdict and verdict not in EvaluationCase.Verdict.values:
            raise Http404("There is no such judgement.")
        note = clean_text(given.get("note", "")).strip()[:MAX_NOTE]
        # Pressing the button of the current judgement again removes it.
        judge(case=case, verdict="" if verdict == case.verdict else verdict, note=note, actor=request.user)

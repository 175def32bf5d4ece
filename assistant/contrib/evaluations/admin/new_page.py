"""The pages that make an evaluation: of an assistant's stored questions, or of the question of one run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.evaluations.admin.forms import MAX_CHOICES, NewEvaluationForm, initial_of, may_read_chats
from assistant.contrib.evaluations.models import Evaluation
from assistant.contrib.evaluations.models.evaluations import MAX_QUESTIONS
from assistant.contrib.evaluations.services.evaluations.added_cases import add_case
from assistant.contrib.evaluations.services.evaluations.evaluations import (
    EvaluationRefused,
    begin,
    default_person,
    make_evaluation,
)
from assistant.contrib.evaluations.services.evaluations.questions import Question, question_of_run
from assistant.contrib.panel.admin.assistants.prompt_editor import PERMISSION, editor_url, find_assistant
from assistant.contrib.panel.admin.assistants.try_chat import try_url
from assistant.contrib.panel.admin.base.chat_reading import gate
from assistant.contrib.panel.admin.conversations.run_cases import ExpectedAnswer
from assistant.models import Assistant, PromptVersion, Run


def new_evaluation_view(request: HttpRequest, assistant: int) -> HttpResponse:
    """Show the form of a new evaluation, or make it and begin."""
    found = find_assistant(request, assistant)
    if request.method == "POST":
        form = NewEvaluationForm(request, found, request.POST)
        if form.is_valid():
            values = form.cleaned_data
            made = _make(
                request,
                found,
                form.questions(),
                name=values["name"],
                version=values["draft"],
                tools=values["tools"],
                judge_model=values["judge_model"],
            )
            if made is not None:
                return HttpResponseRedirect(page_of(made))
    else:
        form = NewEvaluationForm(request, found, initial=initial_of(request, found))
    context = {
        **admin.site.each_context(request),
        "title": _("Compare answers of %(assistant)s") % {"assistant": found.name},
        "assistant": found,
        "form": form,
        "most": MAX_QUESTIONS,
        "may_read": may_read_chats(request, found),
        "published": found.prompt_versions.filter(status=PromptVersion.Status.PUBLISHED).first(),
        "evaluations": Evaluation.objects.filter(assistant=found, tenant=found.tenant_id)[:10],
    }
    return TemplateResponse(request, "admin/assistant/evaluations/new.html", context)


def try_run_view(request: HttpRequest, run: int) -> HttpResponse:
    """Show the question of a run with what can be done with it on a draft: a test chat, or a comparison."""
    found = _run(request, run)
    refused = gate(request, found.conversation)
    if refused is not None:
        return refused
    question = question_of_run(run=found)
    if question is None:
        # The list of runs does not know it: that would take a query for each.
        messages.info(request, _("This run began with no question that could be tried."))
        return HttpResponseRedirect(reverse("admin:assistant_conversation_change", args=[found.conversation_id]))
    versions = found.assistant.prompt_versions.exclude(status=PromptVersion.Status.PUBLISHED).order_by("-number")
    if request.method == "POST":
        pk = request.POST.get("version", "")
        is_number = pk.isascii() and pk.isdigit() and len(pk) < 19
        version = versions.filter(pk=int(pk)).first() if is_number else None
        if version is None:
            messages.error(request, _("Write a draft of the prompt first."))
            return HttpResponseRedirect(editor_url(found.assistant))
        if request.POST.get("do") == "try":
            url = try_url(request, found.assistant, version, question=question.text)
            return HttpResponseRedirect(url or request.get_full_path())
        name = _("Run %(id)s, %(moment)s") % {"id": found.pk, "moment": f"{timezone.localtime():%Y-%m-%d %H:%M:%S}"}
        made = _make(request, found.assistant, [question], name=name[:100], version=version)
        return HttpResponseRedirect(page_of(made) if made is not None else request.get_full_path())
    context = {
        **admin.site.each_context(request),
        "title": _("Try this on a draft"),
        "run": found,
        "assistant": found.assistant,
        "question": question,
        "versions": versions[:MAX_CHOICES],
    }
    return TemplateResponse(request, "admin/assistant/evaluations/try_run.html", context)


def keep_case(request: HttpRequest, run: Run, expected: ExpectedAnswer) -> str:
    """Add the question of a run to the evaluation of annotations; return the case's place on its page.

    Raises:
        ValidationError: the run began with no question, or the evaluation takes none.
    """
    question = question_of_run(run=run)
    if question is None:
        raise ValidationError(_("This run began with no question that could be tried."))
    question = replace(question, expected_text=expected.text, reference=expected.reference)
    try:
        case = add_case(assistant=run.assistant, question=question, actor=request.user)
    except EvaluationRefused as exc:
        raise ValidationError(str(exc)) from exc
    return f"{page_of(case.evaluation)}#question-{case.position}"


def page_of(evaluation: Evaluation) -> str:
    """Return the address of an evaluation's page."""
    return reverse("admin:assistant_evaluations_evaluation_change", args=[evaluation.pk])


def _run(request: HttpRequest, pk: int) -> Run:
    """Return a run. Raises `Http404` unless the user may read it and write the prompts."""
    rows = Run.objects.filter(pk=pk, tenant__in=tenants_of(request, PERMISSION))
    rows = rows.select_related("assistant__tenant", "conversation__tenant", "conversation__user")
    run = rows.first() if pk < 2**63 else None
    if run is None:
        raise Http404("There is no such run.")
    if run.conversation.user_id != request.user.pk and not may_read_chats(request, run.assistant):
        raise Http404("There is no such run.")
    return run


def _make(request: HttpRequest, assistant: Assistant, questions: list[Question], **options: Any) -> Evaluation | None:
    """Make an evaluation and begin it; return None, with a message, if that was refused."""
    person = default_person(assistant=assistant, actor=request.user)  # type: ignore[arg-type]  # signed in
    try:
        made = make_evaluation(assistant=assistant, questions=questions, run_as=person, actor=request.user, **options)
    except EvaluationRefused as exc:
        messages.error(request, str(exc))
        return None
    try:
        begin(evaluation=made, actor=request.user)
    except EvaluationRefused as exc:
        messages.warning(request, _("It is saved, and not run: %(reason)s") % {"reason": exc})
    return made

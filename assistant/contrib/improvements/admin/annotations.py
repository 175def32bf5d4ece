"""Annotations: below each run of a conversation's page, their list, and how one becomes a recorded question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from assistant.admin.base.filters import TENANT
from assistant.admin.base.own_addresses import reverse
from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.improvements.models import MAX_ANSWER, MAX_EXPECTED, MAX_NOTE, Annotation
from assistant.contrib.improvements.services.annotations import AnnotationRefused, Said, annotate
from assistant.contrib.panel.admin.base.chat_reading import HIDDEN, ReadsChats, gate, may_show
from assistant.contrib.panel.admin.conversations.run_cases import ExpectedAnswer, case_keeper
from assistant.contrib.panel.admin.conversations.thread import may_try
from assistant.models import Run
from assistant.toolkit.text import clean_text

# What a custom role needs to allow.
PERMISSION = "read_chats"


class AnnotationForm(forms.Form):
    """What somebody says of an answer; one form for each run of a page, so that ids begin with the run's."""

    label = forms.ChoiceField(
        label=gettext_lazy("The answer is"),
        required=False,
        choices=[("", gettext_lazy("not judged")), *Annotation.Label.choices],
    )
    note = forms.CharField(label=gettext_lazy("Note"), max_length=MAX_NOTE, required=False)
    corrected_answer = forms.CharField(
        label=gettext_lazy("Corrected answer"),
        max_length=MAX_ANSWER,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )
    expected_text = forms.CharField(
        label=gettext_lazy("A right answer contains"),
        max_length=MAX_EXPECTED,
        required=False,
        widget=forms.TextInput(attrs={"dir": "auto"}),
    )
    is_looked_at = forms.BooleanField(label=gettext_lazy("Looked at"), required=False)

    def said(self) -> Said:
        """Return what was entered. Call it on a valid form."""
        values = self.cleaned_data
        return Said(
            label=values["label"],
            note=clean_text(values["note"]),
            corrected_answer=clean_text(values["corrected_answer"]),
            expected_text=clean_text(values["expected_text"]),
            is_looked_at=values["is_looked_at"],
        )


def annotation_parts(request: HttpRequest, runs: Sequence[Run]) -> Mapping[int, SafeString]:
    """Return below each run what was said of it, with the form; two queries for a page. Nothing of tests."""
    shown = [run for run in runs if not run.is_test and not run.is_active]
    if not shown or not tenants_of(request, PERMISSION).filter(pk=shown[0].tenant_id).exists():
        return {}
    rows = Annotation.objects.filter(tenant=shown[0].tenant_id, run__in=[run.pk for run in shown])
    known = {row.run_id: row for row in rows.select_related("author")}
    can_keep = case_keeper() is not None and may_try(request, shown[0].tenant_id)
    first = shown[0].pk
    return {
        run.pk: _part(request, run, known.get(run.pk), can_keep=can_keep, is_first=run.pk == first) for run in shown
    }


def _part(request: HttpRequest, run: Run, row: Annotation | None, *, can_keep: bool, is_first: bool) -> SafeString:
    names = ("label", "note", "corrected_answer", "expected_text")
    initial = {name: getattr(row, name) for name in names} if row is not None else {}
    form = AnnotationForm(initial={**initial, "is_looked_at": True}, auto_id=f"id_{run.pk}_%s", label_suffix="")
    context = {
        "run": run,
        "annotation": row,
        "form": form,
        "can_keep": can_keep,
        # Where a link to this run leads, such as that of a case.
        "is_open": row is None and request.GET.get("run") == str(run.pk),
        # It brings the styles of all.
        "is_first": is_first,
        "url": reverse("admin:annotate_run", args=[run.pk]),
    }
    return render_to_string("admin/assistant/improvements/annotate.html", context, request=request)


@admin.register(Annotation)
class AnnotationAdmin(ReadsChats):
    """What people have said of answers; it is said on the page of the conversation."""

    permission = PERMISSION
    possible_actions = frozenset({"view", "delete"})
    tenant_admins_may = frozenset({"view", "delete"})
    conversation_path = "conversation"
    list_display = ("said_of", "label", "is_looked_at", "tenant", "author", "changed_at")
    list_filter = (TENANT, ("run__assistant", admin.RelatedOnlyFieldListFilter), "label", "is_looked_at", "changed_at")
    list_select_related = ("conversation__tenant", "conversation__user", "tenant", "author", "run")
    fields = ("tenant", "place", "label", "note", "corrected_answer", "expected_text", "is_looked_at", "author")
    readonly_fields = ("place",)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(annotate_view))
        return [path("run/<int:run>/", view, name="annotate_run"), *super().get_urls()]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Return the list with titles where these may be shown."""
        found = super().get_changelist_instance(request)
        for row in found.result_list:
            row.is_title_hidden = not may_show(request, row.conversation)
        return found

    @admin.display(description=gettext_lazy("conversation"))
    def said_of(self, row: Any) -> str:
        return f"{str(row.conversation_id)[:8]} ({HIDDEN})" if row.is_title_hidden else str(row.conversation)

    @admin.display(description=gettext_lazy("conversation"))
    def place(self, row: Any) -> SafeString:
        return format_html('<a href="{}">{}</a>', place_of(row.run), row.conversation)


def place_of(run: Run) -> str:
    """Return where a run is annotated."""
    url = reverse("admin:assistant_conversation_change", args=[run.conversation_id])
    return f"{url}?run={run.pk}#annotate-{run.pk}"


def annotate_view(request: HttpRequest, run: int) -> HttpResponse:
    """Store what was said of a run, and keep it as a recorded question if that was pressed."""
    found = _run(request, run)
    refused = gate(request, found.conversation)
    if refused is not None:
        return refused
    do = request.POST.get("do", "save")
    form = AnnotationForm(request.POST)
    if do not in ("save", "looked", "case"):
        raise Http404("There is no such action.")
    if not form.is_valid():
        for name, errors in form.errors.items():
            messages.error(request, f"{form.fields[name].label}: {' '.join(map(str, errors))}")
        return HttpResponseRedirect(place_of(found))
    said = form.said() if do != "looked" else _looked_at(found)
    try:
        annotate(run=found, said=said, actor=request.user)
    except AnnotationRefused as exc:
        messages.error(request, str(exc))
        return HttpResponseRedirect(place_of(found))
    if do == "case":
        return HttpResponseRedirect(_keep(request, found, said))
    messages.success(request, _("It is stored."))
    return HttpResponseRedirect(place_of(found))


def _run(request: HttpRequest, pk: int) -> Run:
    """Return a run. Raises `Http404` unless the user may read the chats of its tenant."""
    rows = Run.objects.filter(pk=pk, tenant__in=tenants_of(request, PERMISSION), is_test=False)
    rows = rows.select_related("tenant", "assistant__tenant", "conversation__tenant", "conversation__user")
    run = rows.first() if pk < 2**63 else None
    if run is None:
        raise Http404("There is no such run.")
    return run


def _looked_at(run: Run) -> Said:
    """Return what was said before, as looked at."""
    row = Annotation.objects.filter(tenant=run.tenant_id, run=run).first()
    if row is None:
        return Said()
    return Said(row.label, row.note, row.corrected_answer, row.expected_text)


def _keep(request: HttpRequest, run: Run, said: Said) -> str:
    """Keep a run as a recorded question; return the page to go on to."""
    keep = case_keeper()
    if keep is None or not may_try(request, run.tenant_id):
        raise Http404("There is no such action.")
    try:
        url = keep(request, run, ExpectedAnswer(reference=said.corrected_answer, text=said.expected_text))
    except ValidationError as exc:
        messages.warning(request, " ".join(exc.messages))
        return place_of(run)
    messages.success(
        request, _("The question is in this evaluation now: “Run” asks it, and drafts are compared on it.")
    )
    return url

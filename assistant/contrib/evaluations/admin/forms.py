"""The form of a new evaluation, and what it chooses from."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assistant.admin.base.visible_tenants import tenants_of
from assistant.contrib.evaluations.models import Evaluation
from assistant.contrib.evaluations.models.evaluations import MAX_QUESTIONS
from assistant.contrib.evaluations.services.evaluations.questions import (
    Question,
    questions_of,
    stored_questions,
    typed_questions,
)
from assistant.contrib.panel.admin.base.chat_reading import may_show, shown_in_lists
from assistant.models import Assistant, PromptVersion
from assistant.services.assistants.configuration import with_prompt
from assistant.services.assistants.provider_choice import choose_provider

DEFAULT_COUNT = 20
# Versions and evaluations that the fields offer.
MAX_CHOICES = 100
MAX_TYPED = 100_000


def may_read_chats(request: HttpRequest, assistant: Assistant) -> bool:
    """Whether the user may read other people's conversations in the tenant of an assistant."""
    return tenants_of(request, "read_chats").filter(pk=assistant.tenant_id).exists()


class NewEvaluationForm(forms.Form):
    """Chooses the questions to ask again, the draft, how tools are answered, and how the answers are judged."""

    source = forms.ChoiceField(label=gettext_lazy("Questions"))
    count = forms.IntegerField(
        label=gettext_lazy("How many at most"), min_value=1, max_value=MAX_QUESTIONS, initial=DEFAULT_COUNT
    )
    typed = forms.CharField(
        label=gettext_lazy("Questions of your own"),
        required=False,
        max_length=MAX_TYPED,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("One on each line. They come first."),
    )
    draft: forms.ModelChoiceField[PromptVersion] = forms.ModelChoiceField(
        label=gettext_lazy("Draft"), queryset=None, required=False, empty_label=None
    )
    tools = forms.ChoiceField(label=gettext_lazy("Where no result was recorded"), choices=Evaluation.Tools.choices)
    judge_model = forms.CharField(
        label=gettext_lazy("Judge"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("A model of the assistant's provider, which compares the answers. Empty: none."),
    )
    name = forms.CharField(label=gettext_lazy("Name"), max_length=100)

    def __init__(self, request: HttpRequest, assistant: Assistant, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request, self._assistant = request, assistant
        self._runs = named_runs(request)
        others = Evaluation.objects.filter(tenant=assistant.tenant_id, assistant=assistant)[:MAX_CHOICES]
        self.fields["source"].choices = [  # type: ignore[attr-defined]
            *([("runs", _("Those of the chosen runs"))] if self._runs else ()),
            ("newest", _("The newest")),
            ("down", _("With a thumbs-down")),
            ("failed", _("Those that failed")),
            ("typed", _("Only your own")),
            *((f"set:{one.pk}", _("Those of “%(name)s”") % {"name": one.name}) for one in others),
        ]
        versions = PromptVersion.objects.filter(
            assistant=assistant, assistant__tenant=assistant.tenant_id, pk__in=_offered(assistant)
        )
        field: Any = self.fields["draft"]
        field.queryset = versions.select_related("assistant").order_by("-number")
        field.label_from_instance = _version_label
        choice = choose_provider(
            with_prompt(Assistant.objects.filter(pk=assistant.pk, tenant=assistant.tenant_id)).get()
        )
        self.models = sorted({name for name in (choice.model, assistant.model) if name})
        self.fields["judge_model"].widget.attrs["list"] = "judges"

    def questions(self) -> list[Question]:
        """Return the chosen questions that the user may read. Call it on a valid form."""
        values = self.cleaned_data
        typed, source = typed_questions(values["typed"]), values["source"]
        rest = max(values["count"] - len(typed), 0)
        if source == "typed" or not rest:
            return typed[:MAX_QUESTIONS]
        may_read = may_read_chats(self._request, self._assistant)
        if source.startswith("set:"):
            return [*typed, *self._of_set(int(source.removeprefix("set:")), may_read=may_read)[:rest]]
        readable = shown_in_lists(self._request, "conversation") if may_read else Q(user=self._request.user.pk)
        stored = stored_questions(
            assistant=self._assistant, kind=source, limit=rest, readable=readable, runs_of=self._runs
        )
        return [*typed, *stored]

    def _of_set(self, pk: int, *, may_read: bool) -> list[Question]:
        own = Evaluation.objects.filter(tenant=self._assistant.tenant_id, assistant=self._assistant)
        evaluation = own.filter(pk=pk).first()
        if evaluation is None:
            return []
        cases = evaluation.cases.select_related("conversation__tenant", "conversation__user")
        return questions_of(cases=[case for case in cases if is_shown(self._request, case, may_read=may_read)])


def named_runs(request: HttpRequest) -> list[int]:
    """Return the ids of runs that the address names as `runs`, separated by commas; at most `MAX_QUESTIONS`."""
    numbers = request.GET.get("runs", "").split(",")[:MAX_QUESTIONS]
    return [int(number) for number in numbers if number.isascii() and number.isdigit() and len(number) < 19]


def is_shown(request: HttpRequest, case: Any, *, may_read: bool) -> bool:
    """Whether the texts of a question may be shown to the user; the question is loaded with its conversation.

    Where tools are called, the answers show what the person in whose name they are called may read.
    """
    conversation, evaluation = case.conversation, case.evaluation
    is_called = evaluation.tools == Evaluation.Tools.CALL
    if may_read and (conversation is None or may_show(request, conversation)):
        return True
    is_own = conversation is None or conversation.user_id == request.user.pk
    return bool(is_own and (not is_called or evaluation.run_as_id == request.user.pk))


def initial_of(request: HttpRequest, assistant: Assistant) -> dict[str, Any]:
    """Return what the form begins with: the version that the address names, else the newest draft."""
    number = request.GET.get("version", "")
    versions = assistant.prompt_versions.order_by("-number")
    named = versions.filter(number=int(number)) if number.isascii() and number.isdigit() and len(number) < 9 else None
    draft = named.first() if named is not None else None
    draft = draft or versions.filter(status=PromptVersion.Status.DRAFT).first()
    name = f"{timezone.localtime():%Y-%m-%d %H:%M:%S}"
    source = "runs" if named_runs(request) else "newest"
    return {"draft": draft, "name": name, "source": source, "tools": Evaluation.Tools.STUB}


def _offered(assistant: Assistant) -> list[int]:
    rows = assistant.prompt_versions.exclude(status=PromptVersion.Status.PUBLISHED).order_by("-number")
    return list(rows.values_list("pk", flat=True)[:MAX_CHOICES])


def _version_label(version: PromptVersion) -> str:
    label = f" · {version.label}" if version.label else ""
    return f"v{version.number} · {version.get_status_display()}{label}"

"""The form in which an operator answers one pending approval."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from assistant.contrib.panel.admin.inbox.argument_fields import PREFIX, Arguments, arguments_of, question_of
from assistant.models import Approval
from assistant.services.runs.approvals import resume_of
from assistant.services.runs.input.resume_entries import Resume
from assistant.services.text import MAX_TEXT, read_json
from assistant.toolkit.schema.form import form_of

APPROVE, REJECT, RESPOND = "approve", "reject", "respond"
QUESTION_CHOICES = [
    (APPROVE, gettext_lazy("Answer the question with these values")),
    (REJECT, gettext_lazy("Reject: do not answer it")),
]


class AnswerForm(forms.Form):
    """Approve the call, as it is or with edited arguments, reject it, or respond with a result instead."""

    choice = forms.ChoiceField(
        label=gettext_lazy("Answer"),
        choices=[
            (APPROVE, gettext_lazy("Approve: run it with these arguments")),
            (REJECT, gettext_lazy("Reject: do not run it")),
            (RESPOND, gettext_lazy("Respond: do not run it, this is its result")),
        ],
        widget=forms.RadioSelect,
    )
    arguments = forms.CharField(
        label=gettext_lazy("Arguments"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 6, "cols": 80, "spellcheck": "false"}),
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=1000,
        help_text=gettext_lazy("The reason for a rejection; the model reads it."),
        widget=forms.TextInput(attrs={"size": 80}),
    )
    response = forms.CharField(
        label=gettext_lazy("Response"),
        required=False,
        max_length=MAX_TEXT,
        help_text=gettext_lazy("What the model reads in place of the tool's result."),
        widget=forms.Textarea(attrs={"rows": 4, "cols": 80}),
    )

    def __init__(self, call: Approval, data: QueryDict | None) -> None:
        super().__init__(data, prefix=f"call-{call.pk}", initial={"arguments": _pretty(call.arguments)})
        self._call = call
        self.question = question_of(call)
        self._arguments = arguments_of(call) if self.question is None else Arguments({}, form_of(self.question.schema))
        if self._arguments is not None:
            del self.fields["arguments"]
            self.fields |= self._arguments.fields()
            self.order_fields(["choice", *self._arguments.fields(), "reason", "response"])
        if self.question is not None:
            del self.fields["response"]
            self.fields["choice"] = forms.ChoiceField(
                label=gettext_lazy("Answer"), choices=QUESTION_CHOICES, widget=forms.RadioSelect
            )

    def shown_arguments(self) -> list[tuple[str, str]]:
        """Return the arguments as names and values to read."""
        return readable_arguments(self._call.arguments)

    def clean_arguments(self) -> dict[str, Any] | None:
        """Return the edited arguments; None if they are unchanged or the call is not approved."""
        text = self.cleaned_data["arguments"]
        if self.data.get(self.add_prefix("choice")) != APPROVE:
            return None
        try:
            given = read_json(text)
        except ValueError:
            given = None
        if not isinstance(given, dict):
            raise forms.ValidationError(gettext('The arguments must be a JSON object, such as {"name": "value"}.'))
        return None if given == _parsed(self._call.arguments) else given

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self._arguments is not None:
            self._check_arguments(self._arguments, cleaned)
        if cleaned.get("choice") == RESPOND and not cleaned.get("response", "").strip():
            self.add_error("response", gettext("Say what the result is."))
        return cleaned

    def _check_arguments(self, arguments: Arguments, cleaned: dict[str, Any]) -> None:
        """Check the fields of the arguments if the call is approved; else what was typed there does not matter."""
        if cleaned.get("choice") != APPROVE:
            for name in arguments.fields():
                self.errors.pop(name, None)
            return
        for name in arguments.missing(cleaned):
            if f"{PREFIX}{name}" not in self.errors:
                self.add_error(f"{PREFIX}{name}", gettext("The tool needs a value here."))
        cleaned["arguments"] = None if self.errors else arguments.edited(cleaned)

    def answer(self) -> Resume:
        """Return the valid form as the answer to the call."""
        choice, given = self.cleaned_data["choice"], self.cleaned_data
        if choice == REJECT:
            return resume_of(self._call, approved=False, reason=given["reason"])
        if choice == RESPOND:
            return resume_of(self._call, approved=True, response=given["response"])
        if self.question is not None:
            return resume_of(self._call, approved=True, response=json.dumps(given["arguments"] or {}))
        return resume_of(self._call, approved=True, edited_arguments=given["arguments"])


def readable_arguments(text: str) -> list[tuple[str, str]]:
    """Return the arguments of a call, JSON as the model wrote it, as names and values to read."""
    values = _parsed(text)
    if not isinstance(values, dict):
        return [("", text)] if text else []
    return [
        (str(name), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in values.items()
    ]


def _parsed(text: str) -> Any:
    try:
        return read_json(text or "{}")
    except ValueError:
        return None


def _pretty(text: str) -> str:
    value = _parsed(text)
    return text if value is None else json.dumps(value, indent=2, ensure_ascii=False)

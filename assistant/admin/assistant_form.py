"""The form of an assistant."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from assistant.admin.base.tenant_scope import TenantForm
from assistant.models import Assistant
from assistant.models.fields import OnDisconnect
from assistant.services.assistants.configuration import MAX_OTHER_MODELS, MAX_STARTERS, read_other_models, read_schema
from assistant.services.assistants.welcome import read_translations
from assistant.services.runs.extensions.added import extension_choices


class SchemaField(forms.JSONField):
    """A JSON Schema; None is shown as an empty field."""

    def prepare_value(self, value: Any) -> Any:
        return "" if value is None else super().prepare_value(value)


class AssistantForm(TenantForm):
    """The assistant's form; starter prompts are edited one per line."""

    starters = forms.CharField(
        label=_("Starter prompts"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "cols": 80}),
        help_text=format_lazy(
            _("Suggestions for the first message: one per line, {number} at most."), number=MAX_STARTERS
        ),
    )

    other_models = forms.CharField(
        label=_("Other models"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 80}),
        help_text=format_lazy(
            _(
                "Models of the same provider that people may choose for another answer: one name per line, {number} at "
                "most."
            ),
            number=MAX_OTHER_MODELS,
        ),
    )

    extensions = forms.MultipleChoiceField(
        label=_("Additions"),
        required=False,
        choices=extension_choices,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("What optional apps do in this assistant's runs."),
    )

    class Meta:
        model = Assistant
        exclude: tuple[str, ...] = ("created_at", "updated_at")
        field_classes = {"answer_schema": SchemaField}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A form of a script that does not know it gets the default.
        self.fields["on_disconnect"].required = False
        if self.instance.pk:
            for name in ("starters", "other_models"):
                self.initial[name] = "\n".join(str(line) for line in getattr(self.instance, name))

    def clean_on_disconnect(self) -> str:
        return self.cleaned_data["on_disconnect"] or OnDisconnect.CONTINUE

    def clean_answer_schema(self) -> Any:
        return checked_schema(self.cleaned_data["answer_schema"])

    def clean_other_models(self) -> list[str]:
        try:
            return read_other_models(_lines(self.cleaned_data["other_models"]))
        except ValueError as exc:
            raise forms.ValidationError(str(exc)) from exc

    def clean_starters(self) -> list[str]:
        lines = _lines(self.cleaned_data["starters"])
        if len(lines) > MAX_STARTERS:
            raise forms.ValidationError(too_many_starters())
        return lines

    def clean_translations(self) -> dict[str, Any]:
        try:
            return read_translations(self.cleaned_data["translations"] or {})
        except ValueError as exc:
            raise forms.ValidationError(str(exc)) from exc


def too_many_starters() -> str:
    return gettext("At most %(number)d starter prompts.") % {"number": MAX_STARTERS}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def checked_schema(schema: Any) -> Any:
    """Return a JSON Schema of an object, or None for nothing. Raises `ValidationError` if it is none."""
    try:
        return read_schema(schema) if schema else None
    except ValueError as exc:
        raise forms.ValidationError(gettext("This is not a JSON Schema of an object: %(why)s.") % {"why": exc}) from exc

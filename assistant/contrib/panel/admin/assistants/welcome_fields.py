"""The fields of an assistant's form for its greeting and starter prompts in other languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from assistant.admin.assistant_form import AssistantForm, too_many_starters
from assistant.services.assistants.configuration import MAX_STARTERS
from assistant.services.assistants.welcome import MAX_GREETING


def other_languages() -> list[tuple[str, Any]]:
    """Return the project's languages, with their names, without the one in which the other fields are written."""
    return [(code, name) for code, name in settings.LANGUAGES if code != settings.LANGUAGE_CODE]


def welcome_fields() -> dict[str, forms.Field]:
    """Return two fields for each of these languages, by their names."""
    found: dict[str, forms.Field] = {}
    for code, name in other_languages():
        found[f"greeting_{code}"] = forms.CharField(
            label=format_lazy("{} ({})", _("Greeting"), name), required=False, max_length=MAX_GREETING
        )
        found[f"starters_{code}"] = forms.CharField(
            label=format_lazy("{} ({})", _("Starter prompts"), name),
            required=False,
            widget=forms.Textarea(attrs={"rows": 3, "cols": 80}),
        )
    return found


def initial_values(translations: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields' values for stored translations."""
    found = {}
    for code, _name in other_languages():
        texts = translations.get(code, {})
        found[f"greeting_{code}"] = texts.get("greeting", "")
        found[f"starters_{code}"] = "\n".join(texts.get("starters", []))
    return found


class WelcomeForm(AssistantForm):
    """The assistant's form with fields for each other language, in the place of their JSON."""

    class Meta(AssistantForm.Meta):
        exclude = (*AssistantForm.Meta.exclude, "translations")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial.update(initial_values(self.instance.translations))

    def clean(self) -> dict[str, Any]:
        set_translations(self)
        return super().clean()


# The body of a class cannot name them after the project's languages.
WelcomeForm.declared_fields.update(welcome_fields())
WelcomeForm.base_fields.update(welcome_fields())


def set_translations(form: forms.ModelForm[Any]) -> None:
    """Set an assistant's translations as they were entered, unless the form has errors; add those of these fields."""
    translations = _with_fields(form.instance.translations, form.cleaned_data)
    for code, texts in translations.items():
        if len(texts.get("starters", [])) > MAX_STARTERS:
            form.add_error(f"starters_{code}", too_many_starters())
    if not form.errors:
        form.instance.translations = translations


def _with_fields(translations: Mapping[str, Any], cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored translations with what was entered; those in languages without fields stay as they are."""
    found = dict(translations)
    for code, _name in other_languages():
        lines = [line.strip() for line in cleaned.get(f"starters_{code}", "").splitlines() if line.strip()]
        texts = {**found.get(code, {}), "greeting": cleaned.get(f"greeting_{code}", "").strip(), "starters": lines}
        found[code] = {name: value for name, value in texts.items() if value}
    return {code: texts for code, texts in found.items() if texts}

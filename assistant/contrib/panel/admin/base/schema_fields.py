"""The fields of a JSON Schema's form as Django draws them: a tool's settings, its arguments, or an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext

from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.schema.form import FormField

# The stored value of a property without a value.
UNSET: Any = ""


class _Json(forms.CharField):
    """Any JSON value, entered as text; empty for none."""

    widget = forms.Textarea(attrs={"rows": 4, "cols": 60})

    def to_python(self, value: Any) -> Any:
        text = (super().to_python(value) or "").strip()
        try:
            return load_json(text) if text else None
        except ValueError:
            raise forms.ValidationError(gettext('This is not JSON such as ["a", "b"].')) from None


class _Choice(forms.TypedChoiceField):
    """One of several values, or none."""

    def __init__(self, values: list[Any], names: Mapping[Any, str], *, initial: Any, **options: Any) -> None:
        options["initial"] = "" if initial is UNSET else json.dumps(initial)
        choices = [("", "---------"), *((json.dumps(value), names.get(value, str(value))) for value in values)]
        super().__init__(choices=choices, coerce=json.loads, empty_value=None, **options)


def field_of(wanted: FormField, stored: Any) -> forms.Field:
    """Return the field of a property with its stored value, or `UNSET`."""
    options: dict[str, Any] = {
        "label": wanted.label,
        "required": False,
        "help_text": _help(wanted),
        "initial": stored,
    }
    match wanted.kind:
        case "choice":
            return _Choice(list(wanted.options), {}, **options)
        case "several":
            choices = [(json.dumps(value), str(value)) for value in wanted.options]
            options["initial"] = [] if stored is UNSET else [json.dumps(value) for value in stored or ()]
            return forms.TypedMultipleChoiceField(
                choices=choices, coerce=json.loads, empty_value=None, widget=forms.CheckboxSelectMultiple, **options
            )
        case "yes_no":
            return _Choice([True, False], {True: gettext("Yes"), False: gettext("No")}, **options)
        case "integer":
            least, most = (None if bound is None else int(bound) for bound in (wanted.minimum, wanted.maximum))
            return forms.IntegerField(min_value=least, max_value=most, **options)
        case "number":
            return forms.FloatField(min_value=wanted.minimum, max_value=wanted.maximum, **options)
        case "date":
            return forms.CharField(max_length=10, widget=forms.TextInput(attrs={"type": "date"}), **options)
        case "text" | "lines":
            return forms.CharField(max_length=wanted.max_length, **options)
    return _Json(**{**options, "initial": "" if stored is UNSET else json.dumps(stored, indent=2, ensure_ascii=False)})


def _help(wanted: FormField) -> str:
    lines = [wanted.help]
    # An empty default is not mentioned: the empty field shows it.
    if wanted.default not in (None, "", [], {}):
        default = wanted.default
        shown = (gettext("yes") if default else gettext("no")) if isinstance(default, bool) else default
        text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
        lines.append(gettext("Empty: %(default)s.") % {"default": text})
    return " ".join(text for text in lines if text)

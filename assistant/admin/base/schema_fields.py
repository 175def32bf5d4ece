"""Form fields for the properties of a JSON Schema: a tool's settings or its arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.schema.json_schema import JsonSchema, resolve

# What a property that has no value is shown as.
UNSET: Any = ""


class _Json(forms.CharField):
    """Any JSON value, entered as text; empty for none."""

    widget = forms.Textarea(attrs={"rows": 4, "cols": 60})

    def to_python(self, value: Any) -> Any:
        text = (super().to_python(value) or "").strip()
        try:
            return load_json(text) if text else None
        except ValueError:
            raise forms.ValidationError('This is not JSON such as ["a", "b"].') from None


class _Choice(forms.TypedChoiceField):
    """One of several values, or none."""

    def __init__(self, values: list[Any], names: Mapping[Any, str], *, initial: Any, **options: Any) -> None:
        options["initial"] = "" if initial is UNSET else json.dumps(initial)
        choices = [("", "---------"), *((json.dumps(value), names.get(value, str(value))) for value in values)]
        super().__init__(choices=choices, coerce=json.loads, empty_value=None, **options)


def properties_of(root: JsonSchema) -> Iterator[tuple[str, JsonSchema]]:
    """Yield the properties of an object's schema with their own schemas, in its order."""
    for name, wanted in root.get("properties", {}).items():
        schema = dict(resolve(wanted, root))
        options = [resolve(option, root) for option in schema.get("anyOf", ())]
        others = [option for option in options if option.get("type") != "null"]
        if len(options) == len(others) + 1 and len(others) == 1:
            schema = {**others[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
        yield name, {**schema, **{key: value for key, value in wanted.items() if key != "$ref"}}


def field_of(name: str, schema: JsonSchema, stored: Any) -> forms.Field:
    """Return the field of a property with its stored value, or `UNSET`."""
    options: dict[str, Any] = {
        "label": label_of(name),
        "required": False,
        "help_text": _help(schema),
        "initial": stored,
    }
    if "enum" in schema or "const" in schema:
        return _Choice(schema.get("enum", [schema.get("const")]), {}, **options)
    match schema.get("type"):
        case "boolean":
            return _Choice([True, False], {True: "Yes", False: "No"}, **options)
        case "integer":
            return forms.IntegerField(min_value=schema.get("minimum"), max_value=schema.get("maximum"), **options)
        case "number":
            return forms.FloatField(min_value=schema.get("minimum"), max_value=schema.get("maximum"), **options)
        case "string":
            return forms.CharField(max_length=schema.get("maxLength"), **options)
    return _Json(**{**options, "initial": "" if stored is UNSET else json.dumps(stored, indent=2, ensure_ascii=False)})


def _help(schema: JsonSchema) -> str:
    lines = [str(schema.get("description", "")).strip()]
    # A default of no characters or no entries needs no words: the empty field says it.
    if schema.get("default") not in (None, "", [], {}):
        default = schema["default"]
        shown = {True: "yes", False: "no"}.get(default) if isinstance(default, bool) else default
        lines.append(f"Empty: {shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)}.")
    return " ".join(text for text in lines if text)


def label_of(name: str) -> str:
    """Return a property's name as a label."""
    return name.replace("_", " ").strip().capitalize()

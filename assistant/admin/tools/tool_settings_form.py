"""Form fields for the settings and secrets that a tool declares."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms

from assistant.models import ToolSetting
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.tool_settings import read_secrets
from assistant.toolkit import Tool
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.schema.json_schema import JsonSchema, resolve

CONFIG, SECRET = "config_", "secret_"


def declared_tool(setting: ToolSetting) -> Tool | None:
    """Return the setting's tool if it is in the catalogue and declares settings or secrets, else None."""
    if setting.tool not in catalogue.registry():
        return None
    tool = catalogue.registry().get(setting.tool)
    return tool if tool.config is not None or tool.secrets else None


def fields_of(tool: Tool, setting: ToolSetting) -> dict[str, forms.Field]:
    """Return the form fields by name: settings with their stored values, secrets empty."""
    fields = {
        f"{CONFIG}{name}": _field(name, schema, setting.config.get(name, _UNSET))
        for name, schema in _properties(tool)
        if isinstance(setting.config, dict)
    }
    stored = _stored_secrets(setting)
    for name in tool.secrets:
        fields[f"{SECRET}{name}"] = forms.CharField(
            label=_label(name),
            required=False,
            widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "size": 40}),
            help_text="A secret, which is stored. Empty: it is kept."
            if name in stored
            else "A secret, which is not set.",
        )
    return fields


def config_in(tool: Tool, cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a submitted form, without empty ones."""
    values = {name: cleaned.get(f"{CONFIG}{name}") for name, _ in _properties(tool)}
    return {name: value for name, value in values.items() if value not in (None, "")}


def secrets_in(tool: Tool, setting: ToolSetting, cleaned: Mapping[str, Any]) -> str:
    """Return the stored secrets updated with those of a submitted form, as JSON text."""
    given = {name: cleaned.get(f"{SECRET}{name}") for name in tool.secrets}
    secrets = _stored_secrets(setting) | {name: value for name, value in given.items() if value}
    return json.dumps(secrets) if secrets else ""


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
        options["initial"] = "" if initial is _UNSET else json.dumps(initial)
        choices = [("", "---------"), *((json.dumps(value), names.get(value, str(value))) for value in values)]
        super().__init__(choices=choices, coerce=json.loads, empty_value=None, **options)


_UNSET: Any = ""


def _properties(tool: Tool) -> Iterator[tuple[str, JsonSchema]]:
    """Yield the settings with their schemas, in the tool's order."""
    root = tool.config.model_json_schema() if tool.config is not None else {}
    for name, wanted in root.get("properties", {}).items():
        schema = dict(resolve(wanted, root))
        options = [resolve(option, root) for option in schema.get("anyOf", ())]
        others = [option for option in options if option.get("type") != "null"]
        if len(options) == len(others) + 1 and len(others) == 1:
            schema = {**others[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
        yield name, {**schema, **{key: value for key, value in wanted.items() if key != "$ref"}}


def _field(name: str, schema: JsonSchema, stored: Any) -> forms.Field:
    options: dict[str, Any] = {"label": _label(name), "required": False, "help_text": _help(schema), "initial": stored}
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
    return _Json(**{**options, "initial": "" if stored is _UNSET else json.dumps(stored, indent=2, ensure_ascii=False)})


def _help(schema: JsonSchema) -> str:
    lines = [str(schema.get("description", "")).strip()]
    # A default of no characters or no entries needs no words: the empty field says it.
    if schema.get("default") not in (None, "", [], {}):
        default = schema["default"]
        shown = {True: "yes", False: "no"}.get(default) if isinstance(default, bool) else default
        lines.append(f"Empty: {shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)}.")
    return " ".join(text for text in lines if text)


def _label(name: str) -> str:
    return name.replace("_", " ").strip().capitalize()


def _stored_secrets(setting: ToolSetting) -> dict[str, str]:
    try:
        return dict(read_secrets([setting.secrets]))
    except ValueError:
        return {}

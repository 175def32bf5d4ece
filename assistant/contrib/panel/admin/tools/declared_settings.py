"""Form fields for the settings and secrets that a tool declares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext

from assistant.contrib.panel.admin.base.schema_fields import UNSET, field_of
from assistant.models import ToolSetting
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.switch_query import read_secrets
from assistant.toolkit import Tool
from assistant.toolkit.schema.form import FormField, form_of, label_of

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
        f"{CONFIG}{one.name}": field_of(one, setting.config.get(one.name, UNSET))
        for one in _form(tool)
        if isinstance(setting.config, dict)
    }
    stored = _stored_secrets(setting)
    for name in tool.secrets:
        fields[f"{SECRET}{name}"] = forms.CharField(
            label=label_of(name),
            required=False,
            widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "size": 40}),
            help_text=gettext("A secret, which is stored. Empty: it is kept.")
            if name in stored
            else gettext("A secret, which is not set."),
        )
    return fields


def config_in(tool: Tool, cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a submitted form, without empty ones."""
    values = {one.name: cleaned.get(f"{CONFIG}{one.name}") for one in _form(tool)}
    return {name: value for name, value in values.items() if value not in (None, "")}


def secrets_in(tool: Tool, setting: ToolSetting, cleaned: Mapping[str, Any]) -> str | None:
    """Return the stored secrets updated with those of a submitted form, as JSON text; None if none was entered."""
    entered = {name: value for name in tool.secrets if (value := cleaned.get(f"{SECRET}{name}"))}
    return json.dumps(_stored_secrets(setting) | entered) if entered else None


def _form(tool: Tool) -> list[FormField]:
    return form_of(tool.config.model_json_schema() if tool.config is not None else {})


def _stored_secrets(setting: ToolSetting) -> dict[str, str]:
    try:
        return dict(read_secrets([setting.secrets]))
    except (ValueError, ImproperlyConfigured):  # the latter: no key decrypts them
        return {}

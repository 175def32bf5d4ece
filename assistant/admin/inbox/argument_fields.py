"""The arguments of a waiting call as form fields, by the schema of its tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from assistant.admin.base.schema_fields import UNSET, field_of, properties_of
from assistant.models import Approval
from assistant.services.text import read_json
from assistant.services.toolpolicy import catalogue
from assistant.toolkit.schema.json_schema import JsonSchema

PREFIX = "arg_"


@dataclass(frozen=True)
class Arguments:
    """What a call asks for: its arguments, and the schemas of those that have a field of their own, by name."""

    asked: Mapping[str, Any]
    schemas: Mapping[str, JsonSchema]
    required: frozenset[str]

    def fields(self) -> dict[str, forms.Field]:
        """Return a form field for each argument, with the value that the call asks for."""
        return {f"{PREFIX}{name}": self._field(name, schema) for name, schema in self.schemas.items()}

    def _field(self, name: str, schema: JsonSchema) -> forms.Field:
        found = field_of(name, schema, self.asked.get(name, UNSET))
        if type(found) is forms.CharField:
            # Text of several lines stays as it is, up to its last space.
            found.strip = False
            found.widget = forms.Textarea(attrs={"rows": 2, "cols": 80})
        return found

    def missing(self, cleaned: Mapping[str, Any]) -> list[str]:
        """Return the names of required arguments that a submitted form leaves empty."""
        empty = [name for name in self.schemas if cleaned.get(f"{PREFIX}{name}") in (None, "")]
        return [name for name in empty if name in self.required and self.asked.get(name) != ""]

    def edited(self, cleaned: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments of a submitted form, or None if it changes nothing. Those without a field are kept."""
        given = dict(self.asked)
        for name in self.schemas:
            value = cleaned.get(f"{PREFIX}{name}")
            if _is_same(value, self.asked.get(name)):
                continue
            if value in (None, ""):
                given.pop(name, None)
            else:
                given[name] = value.replace("\r\n", "\n") if isinstance(value, str) else value
        return None if given == self.asked else given


def arguments_of(call: Approval) -> Arguments | None:
    """Return the arguments of a call for a form, or None if not each of them can have a field."""
    try:
        asked = read_json(call.arguments or "{}")
    except ValueError:
        return None
    # Schemas of outside servers are not ours to trust: the arguments of their tools are edited as JSON.
    if not isinstance(asked, dict) or call.name not in catalogue.registry():
        return None
    parameters = catalogue.registry().get(call.name).parameters
    schemas = dict(properties_of(parameters))
    if not schemas or not asked.keys() <= schemas.keys():
        # Whoever approves a call must see all that it asks for.
        return None
    return Arguments(asked, schemas, frozenset(parameters.get("required", ())))


def _is_same(value: Any, asked: Any) -> bool:
    """Return whether a submitted value is what was asked for; browsers send line ends of their own."""
    if value in (None, "") and asked in (None, ""):
        return True
    if isinstance(value, str) and not isinstance(asked, bool | None):
        shown = asked if isinstance(asked, str) else json.dumps(asked)
        return value.replace("\r\n", "\n") == shown.replace("\r\n", "\n")
    return (type(value) is not bool and value == asked) or value is asked

"""Serializer fields that accept only their own JSON type: "5" is not a number, and 5 is not a string."""

from __future__ import annotations

import json
from typing import Any

from rest_framework import serializers


class Text(serializers.CharField):
    """A JSON string, not stripped."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """A JSON boolean."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class OneOf(serializers.ChoiceField):
    """One of several JSON values, with its type; or one of several words in a query string."""

    default_error_messages = {"invalid_choice": "{input} is not one of {choices}."}

    def to_internal_value(self, data: Any) -> Any:
        is_known = isinstance(data, str | int) and not isinstance(data, bool) and data in self.choices
        if not is_known or type(data) not in {type(choice) for choice in self.choices}:
            choices = ", ".join(map(json.dumps, self.choices))
            self.fail("invalid_choice", input=json.dumps(data)[:100], choices=choices)
        return data


class JsonObject(serializers.DictField):
    """A JSON object with any content."""

    child = serializers.JSONField()


class QueryFlag(serializers.BooleanField):
    """`true` or `false` in a query string."""

    def to_internal_value(self, data: Any) -> bool:
        if data not in ("true", "false"):
            self.fail("invalid", input=data)
        return bool(data == "true")

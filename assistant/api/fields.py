"""Serializer fields that accept only their own JSON type: "5" is not a number, and 5 is not a string."""

from __future__ import annotations

import json
import re
import uuid
from datetime import date
from typing import Any

from rest_framework import serializers

# Regular expressions as JSON Schema and Python read them. What is read as text may hold anything but NUL.
TEXT = r"^[^\u0000]*$"
# Something besides the white space of Python's `str.strip`.
SAYING = r"^[^\u0000]*[^\u0000\s\u001c-\u001f\u0085][^\u0000]*$"
SLUG = r"^[-a-zA-Z0-9_]+$"
MESSAGE_ID = r"^[!-~]{1,128}$"
# The name of a tool, or `*` for all.
TOOL = r"^([a-zA-Z0-9_-]+|\*)$"
CURSOR = r"^[A-Za-z0-9_-]*$"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


class Text(serializers.CharField):
    """A JSON string, not stripped. `pattern`: a regular expression that it must match."""

    default_error_messages = {"pattern": "This is not of the form {pattern}."}

    def __init__(self, *, pattern: str = TEXT, **options: Any) -> None:
        self.pattern = pattern
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        text = super().to_internal_value(data)
        # NUL, and texts of white space, have errors of their own.
        if text and self.pattern not in (TEXT, SAYING) and not re.search(f"{self.pattern[:-1]}\\Z", text):
            self.fail("pattern", pattern=self.pattern)
        return text


class Uuid(serializers.UUIDField):
    """A UUID as its usual text of 36 characters."""

    def to_internal_value(self, data: Any) -> uuid.UUID:
        if not isinstance(data, str) or not _UUID.fullmatch(data):
            self.fail("invalid", value=data)
        return uuid.UUID(data)


class Whole(serializers.IntegerField):
    """A JSON number without a fraction."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int | float) or data != int(data):
            self.fail("invalid")
        return int(data)


class Day(serializers.DateField):
    """A date as `2026-11-21`."""

    def to_internal_value(self, value: Any) -> date:
        if not isinstance(value, str) or not _DATE.fullmatch(value):
            self.fail("invalid", format="YYYY-MM-DD")
        day: date = super().to_internal_value(value)
        return day


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

    child = serializers.JSONField(allow_null=True)


class QueryFlag(serializers.BooleanField):
    """`true` or `false` in a query string."""

    def to_internal_value(self, data: Any) -> bool:
        if data not in ("true", "false"):
            self.fail("invalid", input=data)
        return bool(data == "true")

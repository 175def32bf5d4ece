"""The cells of a list as texts of a file."""

from __future__ import annotations

from datetime import date, datetime
from html import unescape
from typing import Any

from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import lookup_field
from django.core.exceptions import FieldDoesNotExist, ObjectDoesNotExist
from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.translation import gettext


def text_of_cell(column: Any, row: Any, page: ModelAdmin[Any]) -> object:
    """Return a cell: a moment in ISO 8601 with its zone, a choice as its word, and links as what they show."""
    value = _moment(column, row)
    if value is None:
        try:
            field, _attribute, value = lookup_field(column, row, page)
        except ObjectDoesNotExist:
            return ""
        if field is not None and getattr(field, "flatchoices", None):
            value = getattr(row, f"get_{field.name}_display")()
        elif field is not None and field.is_relation:
            value = getattr(row, field.name)
    return _text(value)


def _moment(column: Any, row: Any) -> datetime | None:
    """Return the moment that a column shows of a field of its own name."""
    name = column if isinstance(column, str) else column.__name__
    try:
        row._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    value = getattr(row, name)
    return value if isinstance(value, datetime) else None


def _text(value: object) -> object:
    match value:
        case None | "—":
            return ""
        case bool():
            return gettext("yes") if value else gettext("no")
        case datetime():
            return value.isoformat(timespec="seconds")
        case date():
            return value.isoformat()
        case int() | float():
            return value
        case SafeString():
            return unescape(strip_tags(value)).strip()
    return str(value)

"""The values that a form changed, before and after, for the audit trail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import models

from assistant.models import AuditEntry

# Numbers, switches, choices and dates: never a secret, and never what a person wrote.
_SHOWN = (models.BooleanField, models.IntegerField, models.FloatField, models.DecimalField, models.DateField)
Values = dict[str, list[str | None]]


def changed_values(forms: Iterable[Any]) -> Values:
    """Return `{field: [before, after]}` of the numbers, switches, choices and dates that were changed.

    Args:
        forms: the valid model form of a page and those of its inlines, whose names come first where there are several.
    """
    found: Values = {}
    for form in forms:
        for name in form.changed_data:
            field = _field(form._meta.model, name)
            if field is not None:
                pair = [_shown(value) for value in (form.initial.get(name), getattr(form.instance, name))]
                if pair[0] != pair[1]:
                    found[name] = pair
    return found


def sentence_of(values: Mapping[str, Any]) -> str:
    """Return changed values as text: "tenant cost per month: 10.00 → 20.00"."""
    pairs = ((name, pair) for name, pair in values.items() if isinstance(pair, list) and len(pair) == 2)
    return "; ".join(f"{name.replace('_', ' ')}: {_word(before)} → {_word(after)}" for name, (before, after) in pairs)


def sentence_of_entry(entry: AuditEntry) -> str:
    """Return the values that an audit entry says were changed, before and after; for a switch, its policy."""
    details = entry.details if isinstance(entry.details, dict) else {}
    values = details.get("values")
    if isinstance(values, dict):
        return sentence_of(values)
    if "before" in details and "policy" in details:
        return f"{details['before']} → {details['policy']}"
    return ""


def _field(model: type[models.Model], name: str) -> models.Field[Any, Any] | None:
    field = next((one for one in model._meta.concrete_fields if one.name == name), None)
    return field if field is not None and (isinstance(field, _SHOWN) or field.choices) else None


def _shown(value: object) -> str | None:
    return None if value in (None, "") else str(value)


def _word(value: object) -> str:
    return "—" if value is None else str(value)

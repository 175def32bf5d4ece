"""Passes the values of an `__in` look-up as one parameter, because Django takes 2 us for each parameter of a list."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Func, Value

# The SQL that reads the parameter, by database and type of the values.
_TEMPLATES = {
    ("sqlite", int): "(SELECT value FROM json_each(%(expressions)s))",
    ("sqlite", str): "(SELECT value FROM json_each(%(expressions)s))",
    ("postgresql", int): "(SELECT value::bigint FROM jsonb_array_elements_text(%(expressions)s::jsonb))",
    ("postgresql", str): "(SELECT value FROM jsonb_array_elements_text(%(expressions)s::jsonb))",
}


def any_of(values: Collection[Any]) -> Func | Collection[Any]:
    """Return the right-hand side of an `__in` look-up for these values.

    It is a single parameter if all values are integers, or all are strings; these must not contain NUL. Otherwise it is
    `values` itself.
    """
    kinds = {type(value) for value in values}
    template = _TEMPLATES.get((connections[DEFAULT_DB_ALIAS].vendor, kinds.pop())) if len(kinds) == 1 else None
    return Func(Value(json.dumps(list(values))), template=template) if template else values

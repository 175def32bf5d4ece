"""Many values of one look-up as a single parameter: Django takes 2 us for each that stands in a list of its own."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Func, Value

# By kind of database and of value.
_LISTS = {
    ("sqlite", int): "(SELECT value FROM json_each(%(expressions)s))",
    ("sqlite", str): "(SELECT value FROM json_each(%(expressions)s))",
    ("postgresql", int): "(SELECT value::bigint FROM jsonb_array_elements_text(%(expressions)s::jsonb))",
    ("postgresql", str): "(SELECT value FROM jsonb_array_elements_text(%(expressions)s::jsonb))",
}


def any_of(values: Collection[Any]) -> Func | Collection[Any]:
    """What stands behind `__in` for these values.

    A single parameter if all are whole numbers, or all texts without NUL; others are given back as they are.
    """
    kinds = {type(value) for value in values}
    template = _LISTS.get((connections[DEFAULT_DB_ALIAS].vendor, kinds.pop())) if len(kinds) == 1 else None
    return Func(Value(json.dumps(list(values))), template=template) if template else values

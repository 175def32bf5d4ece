"""Which rows that documents come from a member may see: those that the read tools of an exposed model would show."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.core.exceptions import ValidationError

from assistant.contrib.data.services.plans import plans
from assistant.contrib.data.services.visible_rows import permitted, visible_rows
from assistant.toolkit import ToolContext, ToolError


def visible_keys(context: ToolContext, model: str, keys: Collection[str]) -> frozenset[str]:
    """Return those of some primary keys whose rows a member may see; none of a model that is not exposed."""
    plan = next((plan for plan in plans() if plan.label.lower() == model.lower() and not plan.problem), None)
    if plan is None:
        return frozenset()
    pks = [pk for pk in (_pk(plan.model, key) for key in keys) if pk is not None]
    try:
        rows = permitted(plan, context, list(visible_rows(plan, context).filter(pk__in=pks)))
    except ToolError:
        # Nobody, or a rule of the project that cannot be asked.
        return frozenset()
    return frozenset(str(row.pk) for row in rows)


def _pk(model: Any, key: str) -> Any:
    try:
        return model._meta.pk.to_python(key)
    except ValidationError:
        return None

"""Which rows that documents come from a member may see: those that the read tools of an exposed model would show."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from django.core.exceptions import ValidationError

from assistant.contrib.data.services.plans import Plan, plans
from assistant.contrib.data.services.visible_rows import permitted, visible_rows
from assistant.toolkit import ToolContext, ToolError

logger = logging.getLogger(__name__)


def visible_keys(context: ToolContext, model: str, keys: Collection[str]) -> frozenset[str]:
    """Return those of some primary keys whose rows a member may see; none of a model that is not exposed."""
    plan = next((plan for plan in plans() if plan.label.lower() == model.lower() and not plan.problem), None)
    if plan is None:
        return frozenset()
    pks = [pk for pk in (_pk(plan.model, key) for key in keys) if pk is not None]
    try:
        return frozenset(map(str, _visible(plan, context, pks)))
    except ToolError:
        # Nobody, or a rule of the project that cannot be asked.
        return frozenset()
    except Exception:
        logger.exception("Which rows of %s may be seen cannot be asked; their documents are not found", plan.label)
        return frozenset()


def _visible(plan: Plan, context: ToolContext, pks: list[Any]) -> list[Any]:
    rows = visible_rows(plan, context).filter(pk__in=pks)
    if plan.uses_object_permissions:
        return [row.pk for row in permitted(plan, context, list(rows))]
    return list(rows.values_list("pk", flat=True))


def _pk(model: Any, key: str) -> Any:
    try:
        return model._meta.pk.to_python(key)
    except ValidationError:
        return None

"""System checks: what `expose` names and cannot be offered."""

from __future__ import annotations

from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, register


@register()
def exposed_models(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about models and columns that are not offered, and why."""
    from assistant.contrib.data.services.plans import plans

    found: list[CheckMessage] = []
    for plan in plans():
        if plan.problem:
            found.append(checks.Warning(f"{plan.label} is not offered: {plan.problem}.", id="assistant_data.W001"))
        found += [
            checks.Warning(f"{plan.label}.{column.name} is not offered: {column.reason}.", id="assistant_data.W002")
            for column in plan.left_out
        ]
    return found

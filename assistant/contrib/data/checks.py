"""System checks: what `expose` names and cannot be offered."""

from __future__ import annotations

from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, register


@register()
def exposed_models(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about models and columns that are not offered, and why."""
    from assistant.contrib.data.knowledge_sources import declared_sources
    from assistant.contrib.data.services.managers import gives_nothing
    from assistant.contrib.data.services.plans import plans
    from assistant.contrib.data.services.structure import exposed_views

    found: list[CheckMessage] = []
    for plan in plans():
        if plan.problem:
            found.append(checks.Warning(f"{plan.label} is not offered: {plan.problem}.", id="assistant_data.W001"))
        found += [
            checks.Warning(f"{plan.label}.{column.name} is not offered: {column.reason}.", id="assistant_data.W002")
            for column in plan.left_out
        ]
        name = plan.exposure.manager or plan.model._meta.default_manager.name
        manager = getattr(plan.model, name)
        if not plan.problem and gives_nothing(manager):
            found.append(
                checks.Warning(
                    f"Nobody finds rows of {plan.label}: without a request, its manager {manager.name} gives none.",
                    hint="expose(..., manager=...) names another; the tenant's path narrows what it gives.",
                    id="assistant_data.W004",
                )
            )
    for view in exposed_views():
        if view.problem:
            found.append(checks.Warning(f"{view.label} is not offered: {view.problem}.", id="assistant_data.W001"))
        found += [checks.Warning(f"{view.label}.{reason}.", id="assistant_data.W002") for reason in view.left_out]
    offered = {plan.model for plan in plans() if not plan.problem}
    found += [
        checks.Warning(
            f"Nobody finds the rows of {source.label} as knowledge: the model is not exposed.",
            hint="expose() says who may see a row; its tools stay off until they are switched on.",
            id="assistant_data.W003",
        )
        for source in declared_sources()
        if source.model not in offered
    ]
    return found

"""What is exposed, as plain data: for reviews, comparisons and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assistant.contrib.data.exposing_openapi import declared_documents
from assistant.contrib.data.exposing_views import declared_viewsets
from assistant.contrib.data.services.plans import Plan, object_backends, plans

if TYPE_CHECKING:
    from assistant.contrib.data.services.openapi_views import DocumentPlan
    from assistant.contrib.data.services.viewsets import ViewPlan


def structure() -> dict[str, dict[str, Any]]:
    """Return what is offered of each exposed model, by its label."""
    return {plan.label: structure_of(plan) for plan in plans()} | structure_of_views()


def structure_of_views() -> dict[str, dict[str, Any]]:
    """Return what is offered of each exposed viewset, by its dotted name, and document."""
    return {plan.label: _structure_of_view(plan) for plan in exposed_views()}


def exposes_views() -> bool:
    """Whether the project exposes viewsets or documents."""
    return bool(declared_viewsets() or declared_documents())


def exposed_views() -> tuple[ViewPlan | DocumentPlan, ...]:
    """Return what is offered of exposed viewsets and documents, without importing what describes them for none."""
    found: tuple[ViewPlan | DocumentPlan, ...] = ()
    if declared_viewsets():
        from assistant.contrib.data.services.viewsets import view_plans

        found += view_plans()
    if declared_documents():
        from assistant.contrib.data.services.openapi_views import document_plans

        found += document_plans()
    return found


def _structure_of_view(plan: ViewPlan | DocumentPlan) -> dict[str, Any]:
    return {
        "tools": [offer.tool for offer in plan.offers],
        "problem": plan.problem,
        "path": "" if plan.problem else plan.path,
        "fields": ["what its serializers show"],
        "filters": sorted({name for offer in plan.offers for name in offer.operation.parameters["properties"]}),
        "personal": [],
        "left_out": list(plan.left_out),
        "not_named": [],
        "rules": [] if plan.problem else plan.rules,
    }


def structure_of(plan: Plan) -> dict[str, Any]:
    """Return what is offered of one model."""
    return {
        "tools": [] if plan.problem else list(plan.tools),
        "problem": plan.problem,
        "path": plan.path,
        "fields": [column.name for column in plan.columns],
        "filters": [column.name for column in plan.filters],
        "personal": [column.name for column in plan.personal],
        "left_out": [f"{column.name}: {column.reason}" for column in plan.left_out],
        "not_named": list(plan.unnamed),
        "rules": rules_of(plan),
    }


def rules_of(plan: Plan) -> list[str]:
    """Return which rules decide on a model's rows, from the first to the last."""
    exposure = plan.exposure
    meta = plan.model._meta
    permission = f"{meta.app_label}.view_{meta.model_name}"
    rules = ["The same rows for all tenants"] if plan.is_tenantless else [f"The tenant's own, by {plan.path}"]
    rules.append("Active members" + (" and end users" if exposure.end_users else ", not end users"))
    manager = plan.model._default_manager
    is_own = exposure.manager or type(manager).get_queryset is not type(plan.model._base_manager).get_queryset
    if is_own:
        rules.append(f"The manager {exposure.manager or manager.name}")
    if exposure.permission is None:
        rules.append(f"The permission {permission}, where anybody has been given it")
    elif exposure.permission:
        rules.append(f"The permission {permission}")
    if exposure.admin_queryset:
        rules.append("The rows of its page in the admin")
    if exposure.visible_to is not None:
        rules.append(f"{exposure.visible_to.__module__}.{exposure.visible_to.__qualname__}")
    if plan.uses_object_permissions:
        backends = ", ".join(object_backends()) or "the project's backends"
        rules.append(f"The permission {permission} for each row, by {backends}")
    return rules

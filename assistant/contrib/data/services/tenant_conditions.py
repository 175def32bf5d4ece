"""Conditions that keep queries to a tenant: the ways that the tripwire follows too (`tenant_paths`)."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Q

from assistant.models import Membership
from assistant.toolkit import ToolContext, ToolError
from assistant.toolkit.guards.tenant_paths import Way, concrete, tenant_models

NO_TENANT = "This tool works for a tenant's members only."


def problem_of_path(model: Any, *, tenantless: bool = False) -> str:
    """Return why rows of a model cannot be kept to a tenant; "" if they can, or belong to none by declaration."""
    if is_tenantless(model, tenantless=tenantless) or _is_user_model(model):
        return ""
    ways = tenant_models().ways(model)
    if not ways:
        return "its rows lead to no tenant: declare its path or that it has none (tenant_paths, tenantless)"
    if any(way.generic is not None for way in ways):
        return "its rows lead to their tenant by a generic foreign key: declare its path (tenant_paths)"
    return ""


def is_tenantless(model: Any, *, tenantless: bool = False) -> bool:
    """Whether all tenants read the same rows of a model. A model that leads to a tenant is never so by `expose` alone.

    Args:
        tenantless: what `expose` was told.
    """
    known = tenant_models()
    return concrete(model) in known.tenantless or (tenantless and not known.ways(model) and not _is_user_model(model))


def shown_path(model: Any, *, tenantless: bool = False) -> str:
    """Return the way from a model's rows to their tenants, for people."""
    if is_tenantless(model, tenantless=tenantless):
        return ""
    ways = tenant_models().ways(model)
    if not ways and _is_user_model(model):
        return "assistant membership"
    return ", ".join("the tenant itself" if way.lookup == "pk" else way.lookup.removesuffix("__pk") for way in ways)


def of_tenant(model: Any, context: ToolContext, prefix: str = "", *, tenantless: bool = False) -> Q:
    """Return the condition of rows of a model that are the tenant's own.

    Args:
        prefix: leads to the model from the rows that are queried: "" or a lookup with its "__".

    Returns:
        An empty condition for a model whose rows belong to no tenant by declaration.

    Raises:
        ToolError: the call has no stored tenant, or the model no path.
    """
    if is_tenantless(model, tenantless=tenantless):
        return Q()
    if problem_of_path(model, tenantless=tenantless):
        raise ToolError(NO_TENANT)
    ways = tenant_models().ways(model)
    if not ways:
        members = Membership.objects.filter(tenant_id=context.tenant.pk).values("user_id")
        return Q(**{f"{prefix}pk__in": members})
    conditions = [_by(way, model, context, prefix) for way in ways]
    if len(conditions) == 1:
        return conditions[0]
    # As the tripwire has it: a row with several ways is the tenant's if each that is not empty leads to it.
    any_way = Q()
    every_way = Q()
    for way, condition in zip(ways, conditions, strict=True):
        any_way |= condition
        every_way &= condition | Q(**{f"{prefix}{way.lookup}__isnull": True})
    return any_way & every_way


def _by(way: Way, model: Any, context: ToolContext, prefix: str) -> Q:
    key = getattr(context.tenant, way.key)
    if key in (None, ""):
        raise ToolError(NO_TENANT)
    if way.is_shared:
        shared = model._base_manager.filter(**{way.lookup: key}).values("pk")
        return Q(**{f"{prefix}pk__in": shared})
    return Q(**{f"{prefix}{way.lookup}": key})


def _is_user_model(model: Any) -> bool:
    return concrete(model) is get_user_model()

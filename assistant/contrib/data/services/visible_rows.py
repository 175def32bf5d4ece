"""The rows of an exposed model that a member may see: the tenant's, narrowed by every rule of the project."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib import admin
from django.contrib.auth import get_permission_codename, get_user_model
from django.contrib.auth.models import Permission
from django.db.models import Exists, Q, QuerySet
from django.http import HttpRequest

from assistant.contrib.data.services.plans import Plan
from assistant.contrib.data.services.tenant_conditions import of_tenant
from assistant.models import Membership
from assistant.toolkit import ToolContext, ToolError
from assistant.toolkit.calls.gate import discard

logger = logging.getLogger(__name__)
Rows = QuerySet[Any, Any]


def visible_rows(plan: Plan, context: ToolContext) -> Rows:
    """Return the rows that a member may see; with object permissions, those that may be asked for one by one.

    Raises:
        ToolError: the call has no member, or the project's own rule cannot be asked.
    """
    exposure = plan.exposure
    rows = _rows_of_manager(plan, context).filter(Exists(_membership(plan, context)))
    if exposure.permission is None:
        rows = rows.filter(_may_view(plan.model, context))
    if exposure.admin_queryset:
        rows = rows.filter(pk__in=_keys(rows_of_admin(plan, context)))
    if exposure.visible_to is not None:
        narrower = exposure.visible_to(rows, context)
        if not isinstance(narrower, QuerySet) or narrower.model is not plan.model:
            discard(narrower)
            raise TypeError(f"visible_to of {plan.label} must return a queryset of it, not a {type(narrower).__name__}")
        # Whatever the function has begun with, the conditions above hold.
        rows = rows.filter(pk__in=_keys(narrower))
    return rows


def tenants_rows(plan: Plan, context: ToolContext) -> Rows:
    """Return all rows of the call's tenant."""
    condition = of_tenant(plan.model, context, tenantless=plan.exposure.tenantless)
    rows: Rows = plan.model._base_manager.filter(condition).order_by()
    return rows


def _rows_of_manager(plan: Plan, context: ToolContext) -> Rows:
    name = plan.exposure.manager
    managed: Rows = (getattr(plan.model, name) if name else plan.model._default_manager).get_queryset()
    query = managed.query
    is_plain = not (query.annotations or query.distinct or query.is_sliced or query.combinator or query.is_empty())
    if is_plain and len(query.alias_map) <= 1:
        return managed.filter(of_tenant(plan.model, context, tenantless=plan.exposure.tenantless)).order_by()
    return tenants_rows(plan, context).filter(pk__in=_keys(managed))


def _keys(rows: Rows) -> Rows:
    is_bare = not (rows.query.is_sliced or rows.query.combinator or rows.query.distinct_fields)
    return (rows.order_by() if is_bare else rows).values("pk")


def _membership(plan: Plan, context: ToolContext) -> QuerySet[Membership]:
    members = Membership.objects.filter(tenant_id=context.tenant.pk, user_id=context.user.pk, user__is_active=True)
    return members if plan.exposure.end_users else members.exclude(role=Membership.Role.END_USER)


def _may_view(model: Any, context: ToolContext) -> Q:
    """Return the condition that the member has the permission to view the model, if anybody has been given it."""
    codename = get_permission_codename("view", model._meta)
    views = Permission.objects.filter(
        content_type__app_label=model._meta.app_label, content_type__model=model._meta.model_name, codename=codename
    )
    is_given = views.filter(Q(user__isnull=False) | Q(group__isnull=False))
    is_held = views.filter(Q(user=context.user.pk) | Q(group__user=context.user.pk))
    superusers = get_user_model()._base_manager.filter(pk=context.user.pk, is_superuser=True)
    return Q(~Exists(is_given)) | Q(Exists(is_held)) | Q(Exists(superusers))


def lacks_permission(plan: Plan, context: ToolContext) -> bool:
    """Whether the member sees nothing because others have the permission to view the model; one query."""
    if plan.exposure.permission is not None:
        return False
    members = Membership.objects.filter(tenant_id=context.tenant.pk, user_id=context.user.pk)
    return not members.filter(_may_view(plan.model, context)).exists()


def rows_of_admin(plan: Plan, context: ToolContext) -> Rows:
    """Return the rows that the model's page in the admin shows the member.

    Raises:
        ToolError: the page needs more of a request than its user, or the member may not open it.
    """
    request = HttpRequest()
    request.method = "GET"
    user = _user(context)
    request.user = user
    page: Any = admin.site._registry[plan.model]
    try:
        if page.has_view_permission(request):
            rows: Rows = page.get_queryset(request)
            return rows
    except Exception as exc:
        logger.exception("The admin's rows of %s cannot be asked for without a request", plan.label)
        raise ToolError(f"The rows of {plan.many.replace('_', ' ')} cannot be asked for here.") from exc
    none: Rows = plan.model._base_manager.none()
    return none


def _user(context: ToolContext) -> Any:
    user = get_user_model()._base_manager.filter(pk=context.user.pk, is_active=True).first()
    if user is None:
        raise ToolError("The member is not active.")
    return user


def permitted(plan: Plan, context: ToolContext, rows: list[Any]) -> list[Any]:
    """Return those of these rows that the member has the permission to view, as the project's backends say."""
    if not plan.uses_object_permissions or not rows:
        return rows
    meta = plan.model._meta
    permission = f"{meta.app_label}.{get_permission_codename('view', meta)}"
    user = _user(context)
    return [row for row in rows if user.has_perm(permission, row)]

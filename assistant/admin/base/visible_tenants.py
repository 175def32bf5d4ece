"""Which tenants a user of the admin may see, and which one they have picked in the header."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpRequest

from assistant.models import Tenant
from assistant.services.tenancy.memberships import administered_tenants

# The session's key with the id of the tenant that was picked in the header.
PICKED_TENANT = "panel_tenant"


def is_operator(request: HttpRequest) -> bool:
    """Whether the user is an operator of the deployment: a superuser."""
    return bool(request.user.is_active and request.user.is_superuser)


def administered(request: HttpRequest) -> frozenset[int]:
    """Return the ids of the tenants that the user administers; one query per request."""
    cached: frozenset[int] | None = getattr(request, "_administered_tenants", None)
    if cached is None:
        cached = administered_tenants(request.user)
        request._administered_tenants = cached  # type: ignore[attr-defined]
    return cached


def tenants_of(request: HttpRequest) -> QuerySet[Tenant]:
    """Return the tenants whose rows the user may see."""
    return Tenant.objects.all() if is_operator(request) else Tenant.objects.filter(pk__in=administered(request))


def picked_tenant_id(request: HttpRequest) -> int | None:
    """Return the id of the tenant that was picked in the header; None if none was, or the user may not see it."""
    session = getattr(request, "session", None)
    pk = session.get(PICKED_TENANT) if session is not None else None
    return pk if pk is not None and (is_operator(request) or pk in administered(request)) else None


def is_list(request: HttpRequest) -> bool:
    """Whether a request is for a model's list, which the picked tenant narrows. Other pages open for any tenant."""
    match = request.resolver_match
    return match is not None and (match.url_name or "").endswith("_changelist")

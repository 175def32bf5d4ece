"""Which tenants a user of the admin may see, and which one they have picked in the header."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpRequest

from assistant.models import Tenant
from assistant.models.tenants import ChatReading
from assistant.services.tenancy.permissions import Permitted, permitted_tenants

# The session's key with the id of the tenant that was picked in the header.
PICKED_TENANT = "panel_tenant"


def is_operator(request: HttpRequest) -> bool:
    """Whether the user is an operator of the deployment: a superuser."""
    return bool(request.user.is_active and request.user.is_superuser)


def permitted_of(request: HttpRequest) -> Permitted:
    """Return what the user may do in which tenants; one query per request."""
    cached: Permitted | None = getattr(request, "_permitted", None)
    if cached is None:
        cached = permitted_tenants(request.user)
        request._permitted = cached  # type: ignore[attr-defined]
    return cached


def administered(request: HttpRequest) -> frozenset[int]:
    """Return the ids of the tenants that the user administers."""
    return permitted_of(request).administered


def tenants_of(request: HttpRequest, permission: str = "") -> QuerySet[Tenant]:
    """Return the tenants in which the user has a permission; without one, those that they administer."""
    if is_operator(request):
        return Tenant.objects.all()
    return Tenant.objects.filter(pk__in=permitted_of(request).tenants(permission))


def reachable_tenants(request: HttpRequest) -> QuerySet[Tenant]:
    """Return the tenants in which the user may do anything here."""
    if is_operator(request):
        return Tenant.objects.all()
    return Tenant.objects.filter(pk__in=permitted_of(request).anywhere)


def picked_tenant(request: HttpRequest) -> Tenant | None:
    """Return the tenant that the user has picked and may see; None if pages show all. One query per request.

    A tenant that was erased since is no longer picked.
    """
    cached: tuple[Tenant | None] | None = getattr(request, "_picked_tenant", None)
    if cached is None:
        session = getattr(request, "session", None)
        pk = session.get(PICKED_TENANT) if session is not None else None
        cached = (None if pk is None else reachable_tenants(request).filter(pk=pk).first(),)
        request._picked_tenant = cached  # type: ignore[attr-defined]
    return cached[0]


def picked_tenant_id(request: HttpRequest) -> int | None:
    """Return the id of the picked tenant, or None."""
    picked = picked_tenant(request)
    return None if picked is None else picked.pk


def is_list(request: HttpRequest) -> bool:
    """Whether a request is for a model's list, which the picked tenant narrows. Other pages open for any tenant."""
    match = request.resolver_match
    return match is not None and (match.url_name or "").endswith("_changelist")


def restricts_reading(request: HttpRequest) -> bool:
    """Whether a tenant in which the user may do anything restricts who reads conversations; one query per request."""
    cached: bool | None = getattr(request, "_restricts_reading", None)
    if cached is None:
        cached = reachable_tenants(request).exclude(chat_reading=ChatReading.OPEN).exists()
        request._restricts_reading = cached  # type: ignore[attr-defined]
    return cached

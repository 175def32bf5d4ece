"""Middleware that shows a host project's own pages the rows of the signed-in user's tenants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from assistant.models import Membership
from assistant.services.tenancy.row_scope import all_tenants, set_all_tenants, set_tenants


class HostRows:
    """Middleware for projects whose own tables row-level security protects (`--host-tables`).

    A request sees the rows of all tenants that its user is a member of, a superuser those of every tenant, and anybody
    else none. Must come after `AuthenticationMiddleware`. Without `ASSISTANT_ROW_LEVEL_SECURITY` it is not used.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        if not settings.ASSISTANT_ROW_LEVEL_SECURITY:
            raise MiddlewareNotUsed
        self.get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if self._is_async:
            return self._answer(request)
        _show(_tenants_of(request))
        return self.get_response(request)

    async def _answer(self, request: HttpRequest) -> HttpResponseBase:
        # Set here, because a context variable that another thread sets is not the request's.
        _show(await sync_to_async(_tenants_of)(request))
        answer: HttpResponseBase = await self.get_response(request)
        return answer


def _show(tenants: list[int] | None) -> None:
    if tenants is None:
        set_all_tenants()
    else:
        set_tenants(*tenants)


@all_tenants()
def _tenants_of(request: HttpRequest) -> list[int] | None:
    """Return the ids of the tenants whose rows a request may see; None for all of them."""
    user = request.user
    if not user.is_authenticated or not user.is_active:
        return []
    if getattr(user, "is_superuser", False):
        return None
    return list(Membership.objects.filter(user_id=user.pk, tenant__is_active=True).values_list("tenant_id", flat=True))

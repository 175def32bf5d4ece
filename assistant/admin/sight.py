"""Whose rows PostgreSQL shows to the admin's pages: to operators all, to others those of tenants they administer."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin

from assistant.admin.tenant_scope import administered, is_operator
from assistant.services.tenancy.row_scope import set_all_tenants, set_tenants


class AdminSight(MiddlewareMixin):
    """Enters the tenants of whoever opens a page of the admin; stands after the session's user is known."""

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        """Called by Django when the address is resolved."""
        if request.resolver_match is None or request.resolver_match.app_name != "admin":
            return
        if is_operator(request):
            set_all_tenants()
        else:
            set_tenants(*administered(request))

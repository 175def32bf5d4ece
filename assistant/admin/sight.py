"""Middleware that sets the tenants whose rows row-level security shows to pages of the admin."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin

from assistant.admin.base.visible_tenants import is_operator, permitted_of
from assistant.services.tenancy.row_scope import set_all_tenants, set_tenants


class AdminSight(MiddlewareMixin):
    """Middleware that selects all tenants for operators, else those in which the user may do something.

    Must come after `AuthenticationMiddleware`.
    """

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        """Apply to views of the admin only; Django calls it once the URL is resolved."""
        if request.resolver_match is None or request.resolver_match.app_name != "admin":
            return
        if is_operator(request):
            set_all_tenants()
        else:
            set_tenants(*permitted_of(request).anywhere)

"""A page of the panel that stands in place of the list of rows that the program makes and nobody changes."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpRequest

from assistant.admin.base.own_transactions import OwnTransactions
from assistant.admin.base.visible_tenants import is_operator, permitted_of, tenants_of


class PageOfRows(OwnTransactions):
    """The base of such a page: rows with a tenant are seen by operators and those with a permission there.

    Attributes:
        permission: what a role needs to allow.
    """

    permission: ClassVar[str]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_operator(request) or bool(permitted_of(request).tenants(self.permission))

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        may_see = self.has_module_permission(request)
        return may_see and (obj is None or tenants_of(request, self.permission).filter(pk=obj.tenant_id).exists())

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

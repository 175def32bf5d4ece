"""Pages that only operators see."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from assistant.admin.base.overflow import OverflowSafeChangeList
from assistant.admin.base.own_transactions import OwnTransactions
from assistant.admin.base.visible_tenants import is_operator


class OperatorsOnly(OverflowSafeChangeList, OwnTransactions):
    """A page for superusers only, regardless of Django permissions."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request)

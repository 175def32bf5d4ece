"""The base of the pages that stand in place of lists of rows, for operators alone, with or without the panel."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from assistant.admin.base.own_transactions import OwnTransactions
from assistant.admin.base.visible_tenants import is_operator


class OperatorsPage(OwnTransactions):
    """A page whose rows nobody adds, changes or deletes by Django's forms."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

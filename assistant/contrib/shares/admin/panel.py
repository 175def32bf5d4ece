"""What the pages of the control panel show of shared conversations."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from assistant.admin.base.merging import MergingInline
from assistant.admin.base.tenant_scope import Scoped
from assistant.contrib.panel.admin.tenants.added_inlines import add_inline
from assistant.contrib.shares.models import TenantSharing


class TenantSharingInline(Scoped, MergingInline, admin.StackedInline[Any, Any]):
    """Whether a tenant's members may share conversations."""

    model = TenantSharing
    fields = ("is_allowed",)
    verbose_name_plural = gettext_lazy("sharing of conversations")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # The default has the same effect as no row.
        return False


add_inline(TenantSharingInline)

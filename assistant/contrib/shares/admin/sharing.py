"""Whether tenants' members may share conversations, where no control panel has it among a tenant's settings."""

from __future__ import annotations

from django.apps import apps
from django.contrib import admin

from assistant.admin.base.filters import TENANT
from assistant.admin.base.tenant_scope import TenantScopedAdmin
from assistant.contrib.shares.models import TenantSharing


class TenantSharingAdmin(TenantScopedAdmin):
    """Which tenants' members may share conversations."""

    list_display = ("tenant", "is_allowed")
    list_filter = (TENANT, "is_allowed")
    list_select_related = ("tenant",)
    fields = ("tenant", "is_allowed")


if not apps.is_installed("assistant.contrib.panel"):
    admin.site.register(TenantSharing, TenantSharingAdmin)

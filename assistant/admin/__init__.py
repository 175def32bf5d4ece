"""Django's admin for what the assistant stores; pages show only rows of tenants that the user may see.

Projects can use `TENANT`, `TenantScopedAdmin` and `TenantScopedInline` for their models with a foreign key `tenant`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.contrib import admin

from assistant import models
from assistant.admin.base.late_pages import late_page

if TYPE_CHECKING:
    from assistant.admin.base.filters import TENANT
    from assistant.admin.base.tenant_scope import TenantScopedAdmin, TenantScopedInline

__all__ = ["TENANT", "TenantScopedAdmin", "TenantScopedInline"]

PLAIN_PAGES = {
    models.Assistant: "assistants.AssistantAdmin",
    models.AuditEntry: "audit.AuditEntryAdmin",
    models.Membership: "members.MembershipAdmin",
    models.PromptVersion: "prompts.PromptVersionAdmin",
    models.Provider: "providers.ProviderAdmin",
    models.Tenant: "tenants.TenantAdmin",
    models.TenantLimits: "limits.TenantLimitsAdmin",
    models.ToolSetting: "tools.ToolSettingAdmin",
}
_MODULES = {"TENANT": "filters", "TenantScopedAdmin": "tenant_scope", "TenantScopedInline": "tenant_scope"}
for model, name in PLAIN_PAGES.items():
    admin.site.register(model, late_page(f"assistant.admin.{name}"))  # type: ignore[arg-type]  # it is called as a class


def __getattr__(name: str) -> Any:
    """Import what projects use when they ask for it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"assistant.admin.base.{_MODULES[name]}"), name)

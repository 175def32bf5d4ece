"""Django's admin for what the assistant stores; pages show only rows of tenants that the user may see.

Projects can use `TenantScopedAdmin` and `TenantScopedInline` for their own models with a foreign key `tenant`.
"""

from assistant.admin import assistants, audit, limits, members, prices, prompts, providers, roles, tenants, tools
from assistant.admin.base.filters import TENANT
from assistant.admin.base.names import translate_names
from assistant.admin.base.tenant_scope import TenantScopedAdmin, TenantScopedInline

translate_names()

__all__ = [
    "TENANT",
    "TenantScopedAdmin",
    "TenantScopedInline",
    "assistants",
    "audit",
    "limits",
    "members",
    "prices",
    "prompts",
    "providers",
    "roles",
    "tenants",
    "tools",
]

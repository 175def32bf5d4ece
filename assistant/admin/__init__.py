"""Django's admin as the control panel; pages show only rows of tenants that the user may see.

Projects can use `TenantScopedAdmin` and `TenantScopedInline` for their own models with a foreign key `tenant`.
"""

from assistant.admin import (
    approvals,
    assistants,
    documents_and_alarms,
    endusers,
    history,
    keys,
    mcp_servers,
    prompts,
    providers,
    switches,
    tenants,
    usage_and_audit,
    users,
    webhooks,
)
from assistant.admin.filters import TENANT
from assistant.admin.tenant_scope import TenantScopedAdmin, TenantScopedInline

__all__ = [
    "TENANT",
    "TenantScopedAdmin",
    "TenantScopedInline",
    "approvals",
    "assistants",
    "documents_and_alarms",
    "endusers",
    "history",
    "keys",
    "mcp_servers",
    "prompts",
    "providers",
    "switches",
    "tenants",
    "usage_and_audit",
    "users",
    "webhooks",
]

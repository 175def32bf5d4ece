"""Django's admin as the control panel; every page about tenants' rows keeps to the tenants that its user may see.

`TenantScopedAdmin` and `TenantScopedInline` do the same for a project's own models that have a foreign key `tenant`.
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

"""Django's admin as the control panel; pages show only rows of tenants that the user may see.

Projects can use `TenantScopedAdmin` and `TenantScopedInline` for their own models with a foreign key `tenant`.
"""

from assistant.admin import assistants, conversations, inbox, settings, spend, tenants, tools
from assistant.admin.base.filters import TENANT
from assistant.admin.base.names import translate_names
from assistant.admin.base.tenant_scope import TenantScopedAdmin, TenantScopedInline

translate_names()

__all__ = [
    "TENANT",
    "TenantScopedAdmin",
    "TenantScopedInline",
    "assistants",
    "conversations",
    "inbox",
    "settings",
    "spend",
    "tenants",
    "tools",
]

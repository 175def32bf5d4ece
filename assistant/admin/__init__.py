"""Django's admin as the control panel; every page about tenants' rows keeps to `scope`."""

from django.contrib import admin

from assistant.admin import (
    approvals,
    assistants,
    endusers,
    history,
    keys,
    library,
    mcp,
    prompts,
    providers,
    records,
    switches,
    tenants,
    users,
    webhooks,
)

__all__ = [
    "approvals",
    "assistants",
    "endusers",
    "history",
    "keys",
    "library",
    "mcp",
    "prompts",
    "providers",
    "records",
    "switches",
    "tenants",
    "users",
    "webhooks",
]

admin.site.site_header = "Tenant Assistant"
admin.site.site_title = "Tenant Assistant"
admin.site.index_title = "Control panel"

"""Django's admin as the control panel; every page about tenants' rows keeps to `scope`."""

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

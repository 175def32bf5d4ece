"""The pages of the control panel; they show only rows of tenants that the user may see."""

from assistant.admin.base import tenant_scope
from assistant.contrib.panel.admin import assistants, conversations, inbox, settings, spend, tenants, tools

tenant_scope.STYLES.append("assistant/panel/panel.css")

__all__ = ["assistants", "conversations", "inbox", "settings", "spend", "tenants", "tools"]

"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether tenants have names, colours and images of their own in the chat and in the widget.
ASSISTANT_TENANT_BRANDS = ENVIRONMENT.flag("ASSISTANT_TENANT_BRANDS", True)

__all__ = ["ASSISTANT_TENANT_BRANDS"]

"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether tenants' admins can export and import bundles in the admin.
ASSISTANT_TENANT_BUNDLES = ENVIRONMENT.flag("ASSISTANT_TENANT_BUNDLES", True)

__all__ = ["ASSISTANT_TENANT_BUNDLES"]

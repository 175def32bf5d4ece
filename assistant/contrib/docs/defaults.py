"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether everybody may read the pages; otherwise those who may use the admin.
ASSISTANT_DOCS_PUBLIC = ENVIRONMENT.flag("ASSISTANT_DOCS_PUBLIC")

__all__ = ["ASSISTANT_DOCS_PUBLIC"]

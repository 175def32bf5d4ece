"""The app's settings, read from environment variables of the same names. A project can set them itself."""

from __future__ import annotations

from assistant.environment import Environment

ENVIRONMENT = Environment()

# Whether members get e-mails about approvals and questions that wait for them.
ASSISTANT_INBOX_MAILS = ENVIRONMENT.flag("ASSISTANT_INBOX_MAILS", True)

__all__ = ["ASSISTANT_INBOX_MAILS"]

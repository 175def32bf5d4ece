"""The pages of spend: what it was for, and the tokens behind it."""

from assistant.contrib.panel.admin.spend import prices, usage

__all__ = ["prices", "usage"]

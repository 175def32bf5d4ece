"""The pages of spend: what it was for, and the tokens behind it."""

from assistant.admin.spend import prices, usage

__all__ = ["prices", "usage"]

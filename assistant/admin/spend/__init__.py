"""The page of token usage and costs."""

from assistant.admin.spend import usage

__all__ = ["usage"]

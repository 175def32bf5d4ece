"""What was used."""

from assistant.admin.spend import usage

__all__ = ["usage"]

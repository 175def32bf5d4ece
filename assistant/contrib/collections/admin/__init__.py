"""Collections in the admin, and what the control panel shows of them."""

from assistant.contrib.collections.admin import collections

__all__ = ["collections"]

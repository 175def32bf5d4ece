"""Which tenants allow links to conversations: a plain page, or a part of the control panel's settings of a tenant."""

from assistant.contrib.shares.admin import sharing

__all__ = ["sharing"]

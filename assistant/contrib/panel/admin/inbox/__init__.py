"""What waits: approvals and incidents for a person, calls for results from outside."""

from assistant.contrib.panel.admin.inbox import approvals

__all__ = ["approvals"]

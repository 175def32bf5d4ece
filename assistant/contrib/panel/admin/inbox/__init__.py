"""What waits: approvals and incidents for a person, calls for results from outside."""

from assistant.contrib.panel.admin.inbox import approvals, pending

__all__ = ["approvals", "pending"]

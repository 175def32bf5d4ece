"""What waits for a person: approvals and incidents."""

from assistant.admin.inbox import approvals

__all__ = ["approvals"]

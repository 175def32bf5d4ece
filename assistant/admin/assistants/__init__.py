"""Assistants, prompts, documents and alarms."""

from assistant.admin.assistants import assistants, prompts

__all__ = ["assistants", "prompts"]

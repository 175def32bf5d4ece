"""Assistants, prompts, documents and alarms."""

from assistant.admin.assistants import assistants, documents_and_alarms, prompts

__all__ = ["assistants", "documents_and_alarms", "prompts"]

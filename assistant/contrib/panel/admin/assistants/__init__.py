"""Assistants, prompts and their variables, documents and alarms."""

from assistant.contrib.panel.admin.assistants import assistants, documents_and_alarms, prompt_variables, prompts

__all__ = ["assistants", "documents_and_alarms", "prompt_variables", "prompts"]

"""Assistants, prompts and their variables, and documents."""

from assistant.contrib.panel.admin.assistants import assistants, documents, prompt_variables, prompts

__all__ = ["assistants", "documents", "prompt_variables", "prompts"]

"""Evaluations of prompts: their list, how one is made, and its page with the answers side by side."""

from assistant.admin.evaluations import evaluations

__all__ = ["evaluations"]

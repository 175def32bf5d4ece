"""Conversations, runs, tool calls and ratings."""

from assistant.admin.conversations import feedback, history

__all__ = ["feedback", "history"]

"""Conversations, runs, tool calls and ratings."""

from assistant.admin.conversations import feedback, history, tool_calls

__all__ = ["feedback", "history", "tool_calls"]

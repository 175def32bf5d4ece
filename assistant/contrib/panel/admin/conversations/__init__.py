"""Conversations, runs, tool calls and ratings."""

from assistant.contrib.panel.admin.conversations import conversations, feedback, history, tool_calls

__all__ = ["conversations", "feedback", "history", "tool_calls"]

"""Conversations, runs, tool calls, ratings and schedules."""

from assistant.contrib.panel.admin.conversations import conversations, feedback, history, schedules, tool_calls

__all__ = ["conversations", "feedback", "history", "schedules", "tool_calls"]

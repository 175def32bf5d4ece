"""The names of the wire formats that providers speak; `assistant.providers` says what is behind them."""

from __future__ import annotations

CHAT_COMPLETIONS = "chat-completions"
RESPONSES = "responses"
ANTHROPIC = "anthropic"
GOOGLE = "google"
WIRE_FORMATS = (CHAT_COMPLETIONS, RESPONSES, ANTHROPIC, GOOGLE)

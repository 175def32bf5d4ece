"""Ollama: what a request may contain is up to the model's template."""

from __future__ import annotations

from assistant.providers.profiles.profile import Profile, begins_thinking

HOSTS = ("ollama.com",)
# The port that it listens on by default.
PORT = 11434


def profile(model: str) -> Profile:
    return Profile("ollama", empty_content="", alternates=True, begins_thinking=begins_thinking(model))

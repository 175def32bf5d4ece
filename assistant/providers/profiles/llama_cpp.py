"""The server of llama.cpp: what a request may contain is up to the model's template."""

from __future__ import annotations

from assistant.providers.profiles.profile import Profile, begins_thinking


def profile(model: str) -> Profile:
    return Profile("llama.cpp", empty_content="", alternates=True, begins_thinking=begins_thinking(model))

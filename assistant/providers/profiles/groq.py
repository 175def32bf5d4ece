"""Groq, which refuses fields of messages that it does not know."""

from __future__ import annotations

from assistant.providers.profiles.profile import Profile

HOSTS = ("groq.com",)


def profile(model: str) -> Profile:
    return Profile("groq", takes_reasoning=False)

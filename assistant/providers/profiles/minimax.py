"""MiniMax, whose models want the reasoning back that led to calls, and write it into the text unless told not to."""

from __future__ import annotations

import re

from assistant.providers.profiles.profile import Profile

HOSTS = ("minimax.io", "minimaxi.com")
MODELS = re.compile(r"minimax")


def profile(model: str) -> Profile:
    return Profile("minimax", empty_content="", defaults={"reasoning_split": True})

"""DeepSeek, whose models in thinking mode want the reasoning back that led to a call."""

from __future__ import annotations

import re

from assistant.providers.profiles.profile import Profile, begins_thinking

HOSTS = ("deepseek.com",)
MODELS = re.compile(r"deepseek")


def profile(model: str) -> Profile:
    return Profile(
        "deepseek", content="text", empty_content="", needs_reasoning=True, begins_thinking=begins_thinking(model)
    )

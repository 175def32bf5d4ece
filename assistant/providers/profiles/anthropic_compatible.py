"""Anthropic by its address for OpenAI's wire format, and gateways that pass requests on to it."""

from __future__ import annotations

import re

from assistant.providers.profiles.profile import Profile, plain_id

HOSTS = ("anthropic.com",)
MODELS = re.compile(r"claude")


def profile(model: str) -> Profile:
    return Profile("anthropic-compatible", call_id=plain_id, takes_reasoning=False, blank="(empty)")

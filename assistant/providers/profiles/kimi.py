"""Moonshot's Kimi, also on other servers: ids of calls as its template writes them, and reasoning with calls."""

from __future__ import annotations

import re

from assistant.core.values.messages import ToolCall
from assistant.providers.profiles.profile import Profile, family

HOSTS = ("moonshot.ai", "moonshot.cn")
MODELS = re.compile(r"(kimi|moonshot)")
_THINKS = re.compile(r"thinking|kimi-k(2[.-][5-9]|[3-9])")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_OWN = re.compile(r"functions\.[a-zA-Z0-9_-]{1,64}:\d{1,6}")


def call_id(call: ToolCall, number: int) -> str:
    """Return an id as the model writes them: `functions.name:0`, numbered through the whole conversation."""
    return (
        call.id
        if _OWN.fullmatch(call.id) and not number
        else f"functions.{_NOT_IN_NAMES.sub('_', call.name)[:64]}:{number}"
    )


def profile(model: str) -> Profile:
    return Profile("kimi", empty_content="", call_id=call_id, needs_reasoning=bool(_THINKS.search(family(model))))

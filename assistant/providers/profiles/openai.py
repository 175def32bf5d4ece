"""OpenAI, and every server that nothing else is known of."""

from __future__ import annotations

import re

from assistant.providers.profiles.profile import Profile, family

HOSTS = ("openai.com",)
# Models that reason take no sampling options and count the tokens of the whole completion.
_REASONS = re.compile(r"(o[1-9]|gpt-[5-9])(?!\d)(?!.*chat)")
SAMPLING = frozenset({"temperature", "top_p", "frequency_penalty", "presence_penalty"})


def profile(model: str, kind: str = "openai") -> Profile:
    if not _REASONS.match(family(model)):
        return Profile(kind)
    return Profile(kind, system_role="developer", renamed={"max_tokens": "max_completion_tokens"}, omitted=SAMPLING)

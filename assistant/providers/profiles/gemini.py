"""Google Gemini by its address for OpenAI's wire format."""

from __future__ import annotations

import re

from assistant.providers.profiles.profile import Profile, family

HOSTS = ("generativelanguage.googleapis.com", "aiplatform.googleapis.com")
MODELS = re.compile(r"gemini")
_WITHOUT_SIGNATURES = re.compile(r"gemini-[12](\D|$)")
# What Google documents for calls that another model made.
# Source: https://ai.google.dev/gemini-api/docs/thought-signatures
_NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}


def profile(model: str) -> Profile:
    is_older = _WITHOUT_SIGNATURES.match(family(model))
    return Profile("gemini", blank="(empty)", call_extra={} if is_older else {"extra_content": _NO_SIGNATURE})

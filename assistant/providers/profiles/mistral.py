"""Mistral, and its models on other servers, whose templates make the same demands."""

from __future__ import annotations

import re

from assistant.providers.profiles.profile import Profile, nine_characters

HOSTS = ("mistral.ai",)
MODELS = re.compile(r"(open-)?(mistral|mixtral|ministral|magistral|codestral|devstral|pixtral)")


def profile(model: str) -> Profile:
    return Profile(
        "mistral",
        pdf_part="document_url",
        empty_content="",
        call_id=nine_characters,
        alternates=True,
        answers_results=True,
        takes_reasoning=False,
        renamed={"seed": "random_seed", "max_completion_tokens": "max_tokens"},
    )

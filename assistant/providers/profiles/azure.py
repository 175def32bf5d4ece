"""Azure OpenAI, whose deployments are named as their owner likes; often after the model."""

from __future__ import annotations

from urllib.parse import urlsplit

from assistant.providers.profiles import openai
from assistant.providers.profiles.profile import Profile

HOSTS = ("openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com", "azure-api.net")


def profile(model: str) -> Profile:
    return openai.profile(model, "azure")


def is_azure(url: str) -> bool:
    """Return whether an address is Azure's, whose older interfaces read the key from a header of their own."""
    host = urlsplit(url).hostname or ""
    return any(f".{host}".endswith(f".{end}") for end in HOSTS)

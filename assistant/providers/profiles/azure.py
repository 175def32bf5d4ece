"""Azure OpenAI, whose deployments are named as their owner likes; often after the model."""

from __future__ import annotations

from assistant.providers.profiles import openai
from assistant.providers.profiles.profile import Profile

HOSTS = ("openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com")


def profile(model: str) -> Profile:
    return openai.profile(model, "azure")

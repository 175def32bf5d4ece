"""Finds the profile of a provider: by the kind that was set, else by its address and the model's name."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from urllib.parse import urlsplit

from assistant.providers.profiles import (
    anthropic_compatible,
    azure,
    deepseek,
    gemini,
    groq,
    kimi,
    llama_cpp,
    minimax,
    mistral,
    ollama,
    openai,
    qwen,
    vllm,
)
from assistant.providers.profiles.profile import Profile, family

_MODULES: dict[str, ModuleType] = {
    "openai": openai,
    "azure": azure,
    "gemini": gemini,
    "mistral": mistral,
    "deepseek": deepseek,
    "kimi": kimi,
    "minimax": minimax,
    "qwen": qwen,
    "vllm": vllm,
    "llama.cpp": llama_cpp,
    "ollama": ollama,
    "groq": groq,
    "anthropic-compatible": anthropic_compatible,
}
KINDS = tuple(_MODULES)
# Parts of host names, such as those of services on an internal network, that say what runs there.
_IN_HOSTS = {"ollama": "ollama", "vllm": "vllm", "llama": "llama.cpp"}


@lru_cache(maxsize=256)
def profile_of(kind: str, url: str, model: str) -> Profile:
    """Return the profile of a model.

    Args:
        kind: one of `KINDS`; "" to guess it.
        url: the provider's address.

    Raises:
        ValueError: there is no such kind.
    """
    if kind and kind not in _MODULES:
        raise ValueError(f"There is no kind of provider named {kind!r}; there are {', '.join(KINDS)}.")
    profile: Profile = _MODULES[kind or guessed_kind(url, model)].profile(model)
    return profile


def guessed_kind(url: str, model: str) -> str:
    """Return the kind of a provider that is known by its address, else by its model; "openai" if neither is known."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    for kind, module in _MODULES.items():
        if any(f".{host}".endswith(f".{end}") for end in getattr(module, "HOSTS", ())):
            return kind
    if _port(url) == ollama.PORT:
        return "ollama"
    for kind, module in _MODULES.items():
        if (models := getattr(module, "MODELS", None)) is not None and models.match(family(model)):
            return kind
    return next((kind for part, kind in _IN_HOSTS.items() if part in host), "openai")


def _port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:  # above 65535
        return None

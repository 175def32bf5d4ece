"""Finds the profile of a provider: by the kind that was set, else by its address and the model's name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from urllib.parse import urlsplit

from assistant.providers.profiles.kinds import AZURE_HOSTS, KINDS_BY_NAME, OLLAMA_PORT
from assistant.providers.profiles.profile import Profile, family

KINDS = tuple(KINDS_BY_NAME)
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
    if kind and kind not in KINDS_BY_NAME:
        raise ValueError(f"There is no kind of provider named {kind!r}; there are {', '.join(KINDS)}.")
    known = KINDS_BY_NAME[kind or guessed_kind(url, model)]
    return known.profile if known.by_model is None else replace(known.profile, **known.by_model(model))


def guessed_kind(url: str, model: str) -> str:
    """Return the kind of a provider that is known by its address, else by its model; "openai" if neither is known."""
    for name, kind in KINDS_BY_NAME.items():
        if _is_below(url, kind.hosts):
            return name
    if _port(url) == OLLAMA_PORT:
        return "ollama"
    for name, kind in KINDS_BY_NAME.items():
        if kind.models and re.match(kind.models, family(model)):
            return name
    host = urlsplit(url).hostname or ""
    return next((kind for part, kind in _IN_HOSTS.items() if part in host), "openai")


def is_azure(url: str) -> bool:
    """Return whether an address is Azure's, whose older interfaces read the key from a header of their own."""
    return _is_below(url, AZURE_HOSTS)


def _is_below(url: str, hosts: Iterable[str]) -> bool:
    host = urlsplit(url).hostname or ""
    return any(f".{host}".endswith(f".{end}") for end in hosts)


def _port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:  # above 65535
        return None

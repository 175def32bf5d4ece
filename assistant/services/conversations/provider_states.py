"""Encrypts what providers send with messages for themselves, if ASSISTANT_ENCRYPT_PROVIDER_STATE is set."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from assistant.models.fields import decrypted, encrypted

logger = logging.getLogger(__name__)

# A state begins with this if it is not encrypted: it is a JSON object.
_PLAIN = "{"


def sealed(state: str) -> str:
    """Return a state as it is stored."""
    return encrypted(state) if settings.ASSISTANT_ENCRYPT_PROVIDER_STATE and state.startswith(_PLAIN) else state


def unsealed(stored: str) -> str:
    """Return a stored state as the adapter wrote it; "" if no key decrypts it, which a provider can do without."""
    if not stored or stored.startswith(_PLAIN):
        return stored
    try:
        return decrypted(stored, "a provider's state")
    except ImproperlyConfigured as exc:
        logger.warning("A provider does not get back what it gave with a message: %s", exc)
        return ""


def with_unsealed_states(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored checkpoint with the states of its messages as the adapter wrote them."""
    messages = [{**one, "provider_state": unsealed(one.get("provider_state", ""))} for one in checkpoint["messages"]]
    return {**checkpoint, "messages": messages}


def with_sealed_states(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Return a checkpoint, as `Transcript.to_state` made it, with the states of its messages as they are stored."""
    if settings.ASSISTANT_ENCRYPT_PROVIDER_STATE:
        for message in checkpoint["messages"]:
            message["provider_state"] = sealed(message["provider_state"])
    return checkpoint

"""State that a provider sends with a message for its own later use: ids, signatures of calls, reasoning.

It is stored with the message as text, and goes back to the same model of the same kind of provider at the same address.
No other can use it, and some refuse it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec

# Bytes of the state of one message. Of reasoning that is longer, the beginning is kept; other parts are whole or left
# out, since a part of a signature is invalid.
MAX_BYTES = 64 * 1024


class CallState(msgspec.Struct, omit_defaults=True):
    """What belongs to one call: the provider's own id, and other fields of the call, such as `extra_content`."""

    id: str = ""
    fields: dict[str, Any] = {}


class ProviderState(msgspec.Struct, omit_defaults=True):
    """What belongs to one message: `calls` in the order of its calls, and other fields of the message.

    `origin` stands for the address, as `origin_of` returns it.
    """

    kind: str
    model: str
    calls: list[CallState] = []
    fields: dict[str, Any] = {}
    reasoning: tuple[str, str] | None = None
    origin: str = ""


_decode = msgspec.json.Decoder(ProviderState).decode


@lru_cache(maxsize=256)
def origin_of(url: str) -> str:
    """Return what distinguishes a provider's address from others; the address cannot be read from it."""
    parts = urlsplit(url)
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower() + parts.path.rstrip("/")
    return hashlib.sha256(address.encode(errors="surrogatepass")).hexdigest()[:16]


def merge_fields(known: dict[str, Any], more: Any) -> None:
    """Add fields that have arrived to those that are known; objects in both are joined, one level deep."""
    for name, value in more.items() if isinstance(more, dict) else ():
        before = known.get(name)
        known[name] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value


def written_state(
    kind: str,
    model: str,
    *,
    calls: Sequence[CallState],
    fields: Mapping[str, Any],
    reasoning: tuple[str, str] | None,
    origin: str = "",
) -> str:
    """Return the state of a message as text of at most `MAX_BYTES`; "" if there is nothing to keep.

    Args:
        calls: in the order of the message's calls.
        fields: further fields of the message.
        reasoning: the name of the field in which reasoning came, and the reasoning.
        origin: of the provider, as `origin_of` returns it.
    """
    if not fields and not any(call.id or call.fields for call in calls) and not (calls and reasoning):
        return ""
    state = ProviderState(kind, model, list(calls), dict(fields), origin=origin)
    if len(text := _text(state)) > MAX_BYTES:
        state = ProviderState(kind, model, [CallState(call.id) for call in calls], origin=origin)
        if len(text := _text(state)) > MAX_BYTES:
            return ""
    if not calls or reasoning is None:
        return text.decode()
    name, said = reasoning
    while len(whole := _text(msgspec.structs.replace(state, reasoning=(name, said)))) > MAX_BYTES:
        # A character has at most six bytes as JSON.
        said = said[: min(len(said) - 1, max(len(said) - (len(whole) - MAX_BYTES) // 6 - 1, 0))]
        if not said:
            return text.decode()
    return whole.decode()


def read_state(text: str, kind: str, model: str, origin: str = "") -> ProviderState | None:
    """Return the state of a message if this model of this kind of provider at this address gave it, else None."""
    try:
        state = _decode(text)
    except msgspec.MsgspecError:  # of a later version, or encrypted with a key that is lost
        return None
    return state if (state.kind, state.model, state.origin) == (kind, model, origin) else None


def _text(state: ProviderState) -> bytes:
    try:
        return msgspec.json.encode(state)
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(msgspec.to_builtins(state), ensure_ascii=False).encode("utf-8", "replace")

"""The items of an answer that go back to the provider as they came: reasoning, ids, phases and searches.

They are stored with a message as its provider state, without its text and its calls' arguments, which the message has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from assistant.providers.openai_wire.provider_state import MAX_BYTES

# In a state, in place of a profile's kind: chat completions read no state of responses, and the other way round.
KIND = "responses"
# Between the texts of a message, where a response has several.
BETWEEN = "\n\n"


class ItemState(msgspec.Struct, omit_defaults=True):
    """One item of an answer.

    Attributes:
        kind: "own" is an item that goes back as `fields` have it, such as reasoning. "call" and "search" stand for
            the message's calls, in their order; a search goes back as `fields` have it.
        id: the provider's own; "" if it must not go back.
        call_id: the provider's own id of a call.
        phase: of a text.
        characters: of a text, of which a message can have several.
    """

    kind: Literal["own", "text", "call", "search"]
    id: str = ""
    call_id: str = ""
    phase: str = ""
    characters: int = 0
    fields: dict[str, Any] = {}


class ItemsState(msgspec.Struct, omit_defaults=True):
    """The items of one message, in their order."""

    kind: str
    model: str
    origin: str
    items: list[ItemState] = []


_decode = msgspec.json.Decoder(ItemsState).decode


def reasoning_state(raw: Mapping[str, Any]) -> ItemState | None:
    """Return an item of reasoning as it goes back; None if the server could not read it, having stored nothing."""
    encrypted, content = raw.get("encrypted_content"), raw.get("content")
    if not encrypted and not content:
        return None
    fields = {"type": "reasoning", "id": raw.get("id"), "summary": raw.get("summary") or []}
    fields |= {"encrypted_content": encrypted} if encrypted else {"content": content}
    return ItemState("own", fields={name: value for name, value in fields.items() if value is not None})


def written_items(model: str, origin: str, items: Sequence[ItemState], *, is_whole: bool) -> str:
    """Return the items as text of at most `MAX_BYTES`; "" if there is nothing to keep.

    Reasoning is whole or left out, the earliest first. Ids go back only with all of the reasoning, without which the
    provider would refuse them.

    Args:
        is_whole: whether the items are all that the answer had.
    """
    kept = list(items)
    while True:
        if not is_whole:
            kept = [msgspec.structs.replace(item, id="") for item in kept]
        if not any(item.call_id or item.phase or item.fields for item in kept):
            return ""
        text = _text(ItemsState(KIND, model, origin, kept))
        if len(text) <= MAX_BYTES:
            return text.decode()
        if (first := next((item for item in kept if item.kind == "own"), None)) is None:
            return ""
        kept.remove(first)
        is_whole = False


def read_items(text: str, model: str, origin: str) -> Sequence[ItemState]:
    """Return the items of a message if this model at this address gave them; else none."""
    try:
        state = _decode(text)
    except msgspec.MsgspecError:  # of another wire format, or encrypted with a key that is lost
        return ()
    return state.items if (state.kind, state.model, state.origin) == (KIND, model, origin) else ()


def _text(state: ItemsState) -> bytes:
    try:
        return msgspec.json.encode(state)
    except UnicodeEncodeError:  # a lone surrogate
        return b""

"""Fields of an answer that the provider wants back with it, and that no other provider can use.

`extra_content` is Gemini's. `reasoning_details` comes from OpenRouter and MiniMax, and `thinking_blocks` from LiteLLM:
lists of reasoning with signatures or in encrypted form, in pieces that are joined here.
Source: https://openrouter.ai/docs/use-cases/reasoning-tokens
"""

from __future__ import annotations

from typing import Any

from assistant.providers.openai_wire.chunks import Piece
from assistant.providers.openai_wire.provider_state import MAX_BYTES, merge_fields

# Fields of an entry that arrive in pieces; any other is replaced by a later piece, unless that is null.
_IN_PIECES = ("text", "summary", "thinking")
# The entries go back with an answer without calls only if one of them has one of these fields.
_PROOFS = ("signature", "data", "encrypted_content")
_MAX_ENTRIES = 1_000


class _Entries:
    """One list of reasoning, joined from its pieces; none if it is longer than provider state may be."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._texts: list[dict[str, list[str]]] = []
        self._places: dict[tuple[object, ...], int] = {}
        self._size = 0

    def add(self, pieces: Any) -> str:
        """Add the entries of one chunk; returns their text, for people."""
        shown = ""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                text = next((piece[name] for name in _IN_PIECES if isinstance(piece.get(name), str)), "")
                shown += text
                if self._size <= MAX_BYTES and len(self._entries) <= _MAX_ENTRIES:
                    self._add(piece)
        return shown

    def result(self, *, has_calls: bool) -> list[dict[str, Any]]:
        """Return the entries; of an answer without calls only if they prove where they come from."""
        if self._size > MAX_BYTES or len(self._entries) > _MAX_ENTRIES:
            return []
        whole = [
            entry | {name: "".join(parts) for name, parts in texts.items()}
            for entry, texts in zip(self._entries, self._texts, strict=True)
        ]
        return whole if has_calls or any(entry.get(name) for entry in whole for name in _PROOFS) else []

    def _add(self, piece: dict[str, Any]) -> None:
        self._size += sum(len(value) for value in piece.values() if isinstance(value, str))
        kind, index = piece.get("type"), piece.get("index")
        place = self._place_of(kind, index, piece)
        if place is None:
            place = len(self._entries)
            self._entries.append({})
            self._texts.append({})
            if isinstance(kind, str) and isinstance(index, int):
                self._places[kind, index] = place
        for name, value in piece.items():
            if name in _IN_PIECES and isinstance(value, str):
                self._texts[place].setdefault(name, []).append(value)
            elif value is not None or name not in self._entries[place]:
                self._entries[place][name] = value

    def _place_of(self, kind: Any, index: Any, piece: dict[str, Any]) -> int | None:
        """Return the position of the entry that a piece continues; None if it begins another one.

        What is encrypted comes whole, and what has its signature is complete.
        """
        if any(piece.get(name) for name in ("data", "encrypted_content")):
            return None
        if isinstance(index, int):
            return self._places.get((kind, index)) if isinstance(kind, str) else None
        last = self._entries[-1] if self._entries else {}
        return len(self._entries) - 1 if last.get("type") == kind and not last.get("signature") else None


class KeptFields:
    """The fields of one answer that go back to its provider."""

    def __init__(self) -> None:
        self._extra: dict[str, Any] = {}
        self._lists: dict[str, _Entries] = {}

    def add(self, piece: Piece) -> str:
        """Add what a chunk has of these fields; returns the reasoning in it that people can read."""
        if piece.extra_content is not None:
            merge_fields(self._extra, piece.extra_content)
        shown = ""
        for name, entries in (
            ("reasoning_details", piece.reasoning_details),
            ("thinking_blocks", piece.thinking_blocks),
        ):
            if entries:
                shown = self._lists.setdefault(name, _Entries()).add(entries) or shown
        return shown

    def fields(self, *, has_calls: bool) -> dict[str, Any]:
        """Return the fields that the message is sent back with."""
        found = {name: entries.result(has_calls=has_calls) for name, entries in self._lists.items()}
        extra = {"extra_content": self._extra} if self._extra else {}
        return extra | {name: entries for name, entries in found.items() if entries}

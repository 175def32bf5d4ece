"""Reads what an answer says that it was grounded on.

Source: https://ai.google.dev/api/generate-content#GroundingMetadata
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.core.values.citations import Citation, citation

# Kinds of chunks: pages, passages of a search in files or data, and places.
_KINDS = ("web", "retrievedContext", "maps")
MAX_CHUNKS = 200


def grounds_of(metadata: Any) -> list[Citation | None]:
    """Return the chunks that the answer's segments name, in their order; all of them if no segment names any."""
    if not isinstance(metadata, Mapping):
        return []
    chunks = _list(metadata.get("groundingChunks"))
    supports = [one for one in _list(metadata.get("groundingSupports")) if isinstance(one, Mapping)]
    places = [place for one in supports for place in _list(one.get("groundingChunkIndices")) if isinstance(place, int)]
    named = [place for place in dict.fromkeys(places) if 0 <= place < len(chunks)]
    return [_of_chunk(chunks[place]) for place in (named or range(len(chunks)))]


def _of_chunk(chunk: Any) -> Citation | None:
    if not isinstance(chunk, Mapping):
        return None
    found = next((chunk[kind] for kind in _KINDS if isinstance(chunk.get(kind), Mapping)), None)
    return None if found is None else citation(found.get("uri"), found.get("title"), found.get("text"))


def _list(value: Any) -> list[Any]:
    return value[:MAX_CHUNKS] if isinstance(value, list) else []

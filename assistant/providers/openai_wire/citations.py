"""Reads what an answer of chat completions says that it was taken from, in the forms in which servers say it.

Sources: https://platform.openai.com/docs/guides/tools-web-search?api-mode=chat (`annotations`; OpenRouter's have the
passage), https://docs.perplexity.ai/api-reference/chat-completions-post (`search_results` and `citations`, of which
xAI has the latter), https://learn.microsoft.com/azure/ai-foundry/openai/references/on-your-data (`context`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from assistant.core.values.citations import MAX_CITATIONS, Citation, bounded, citation

# Entries that are read of one list.
MAX_ENTRIES = 200


class Citations:
    """The citations of one answer, from its chunks."""

    def __init__(self) -> None:
        self._annotated: list[Citation | None] = []
        self._results: list[Citation | None] = []
        self._addresses: list[Citation | None] = []

    def add_message(self, annotations: Any, context: Any) -> None:
        """Add those of a message, or of a piece of one."""
        documents = context.get("citations") if isinstance(context, Mapping) else None
        new = [*map(_of_annotation, _mappings(annotations)), *map(_of_document, _mappings(documents))]
        self._annotated += new[: MAX_ENTRIES - len(self._annotated)]

    def add_answer(self, results: Any, addresses: Any) -> None:
        """Add those of the whole answer, which each chunk repeats."""
        if isinstance(results, list):
            self._results = [
                citation(one.get("url"), one.get("title"), one.get("snippet")) for one in _mappings(results)
            ]
        if isinstance(addresses, list):
            self._addresses = [citation(one, one) for one in addresses[:MAX_CITATIONS] if _is_address(one)]

    def all(self) -> tuple[Citation, ...]:
        """Return them, each once; addresses only if nothing else is known, since they are the same without titles."""
        return bounded(self._annotated) or bounded(self._results) or bounded(self._addresses)


def _of_annotation(raw: Mapping[str, Any]) -> Citation | None:
    """Return an annotation as a citation; None for one that names no source, such as a file that was read."""
    if raw.get("type") != "url_citation":
        return None
    nested = raw.get("url_citation")
    found = nested if isinstance(nested, Mapping) else raw
    return citation(found.get("url"), found.get("title"), found.get("content"))


def _of_document(raw: Mapping[str, Any]) -> Citation | None:
    address = raw.get("url") or raw.get("filepath")
    return citation(address, raw.get("title") or raw.get("filepath"), raw.get("content"))


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("https://", "http://"))


def _mappings(entries: Any) -> Iterator[Mapping[str, Any]]:
    listed = entries if isinstance(entries, list) else ()
    return (one for one in islice(listed, MAX_ENTRIES) if isinstance(one, Mapping))

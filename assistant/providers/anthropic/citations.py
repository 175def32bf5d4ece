"""Reads what an answer says that a block of its text was taken from.

Source: https://platform.claude.com/docs/en/build-with-claude/citations
"""

from __future__ import annotations

from typing import Any

from assistant.core.values.citations import Citation, citation


def citation_of(raw: Any) -> Citation | None:
    """Return a citation of a document, a search result or a page; None if it names no source."""
    if not isinstance(raw, dict):
        return None
    address = raw.get("url") or raw.get("source") or raw.get("file_id")
    title = raw.get("title") or raw.get("document_title")
    index = raw.get("document_index")
    if not address and not title and isinstance(index, int):
        title = f"Document {index + 1}"
    return citation(address, title, raw.get("cited_text"), raw.get("start_page_number"))

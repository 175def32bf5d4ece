"""Reads what a response says that its text was taken from.

Source: https://platform.openai.com/docs/api-reference/responses/object, the annotations of `output_text`
"""

from __future__ import annotations

from typing import Any

from assistant.core.values.citations import Citation, citation


def annotation_of(raw: Any) -> Citation | None:
    """Return an annotation as a citation; None for one of a kind that names no source, such as the path of a file."""
    if not isinstance(raw, dict):
        return None
    match raw.get("type"):
        case "url_citation":
            return citation(raw.get("url"), raw.get("title"))
        case "file_citation" | "container_file_citation":
            return citation(raw.get("file_id"), raw.get("filename"), raw.get("filename"))
    return None

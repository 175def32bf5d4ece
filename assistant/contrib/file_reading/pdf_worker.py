"""Extracts the text of a PDF in a child process; run by `assistant.toolkit.processes`."""

from __future__ import annotations

import io
import json
import re
from typing import Any

# The first line of a result: a text follows, or why there is none.
TEXT, ENCRYPTED, TOO_MANY_PAGES, TOO_LONG, BROKEN, EMPTY = "text", "encrypted", "pages", "long", "broken", "empty"
BOMB = "bomb"
# What the streams of all pages may unpack to: this many bytes, or so many times the size of the file.
UNPACKED_FROM, MAX_RATIO = 10 * 1024 * 1024, 100


def work(task: bytes) -> bytes:
    """Return one of the words above, a line end, and the text in UTF-8 with form feeds between pages.

    Args:
        task: a line of JSON with the most `pages` and `characters`, and the PDF.
    """
    line, _, content = task.partition(b"\n")
    limits = json.loads(line)
    try:
        outcome, text = _read(content, limits["pages"], limits["characters"])
    except MemoryError:
        raise
    except Exception:  # pypdf documents that broken files may raise anything
        outcome, text = BROKEN, ""
    return f"{outcome}\n{text}".encode(errors="replace")


def _read(content: bytes, most_pages: int, most_characters: int) -> tuple[str, str]:
    from pypdf import PdfReader  # the server imports this module for its constants

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        return ENCRYPTED, ""
    if len(reader.pages) > most_pages:
        return TOO_MANY_PAGES, ""
    pages: list[str] = []
    unpacked = 0
    most_unpacked = max(UNPACKED_FROM, MAX_RATIO * len(content))
    for page in reader.pages:
        unpacked += _unpacked(page)
        if unpacked > most_unpacked:
            return BOMB, ""
        # Join words that are hyphenated at the end of a line.
        pages.append(re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", page.extract_text().replace("\f", "\n")))
        if sum(map(len, pages)) > most_characters:
            return TOO_LONG, ""
    if not any(page.strip() for page in pages):
        return EMPTY, "\f" * (len(pages) - 1)
    return TEXT, "\f".join(pages)


def _unpacked(page: Any) -> int:
    """Return how many bytes the operators of a page are; 0 if they cannot be found, which its text will tell."""
    try:
        contents = page.get_contents()
        return 0 if contents is None else len(contents.get_data())
    except MemoryError:
        raise
    except Exception:  # as above
        return 0

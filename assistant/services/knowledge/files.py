"""Reads the text of uploaded files. PDFs are parsed in child processes with limits of time and memory."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath

from django.conf import settings
from django.core.files.base import File

from assistant.models.knowledge import Document
from assistant.services import metrics
from assistant.services.knowledge import pdf_worker
from assistant.toolkit.processes.child import (
    ChildFailed,
    ChildLimits,
    TooMuchMemory,
    TooMuchOutput,
    TooSlow,
    run_in_child_and_wait,
)

logger = logging.getLogger(__name__)

MAX_FILE_BYTES = 20 * 1024 * 1024
MAX_CHARACTERS = 2_000_000
MAX_PAGES = 1000
# A result in UTF-8, with its first line.
_MAX_OUTPUT = 4 * MAX_CHARACTERS + 100
# The server's event loop comes before its readers.
_NICENESS = 10
_WORKER = Path(pdf_worker.__file__)

_TEXT_KINDS = {
    ".txt": Document.Kind.TEXT,
    ".text": Document.Kind.TEXT,
    ".md": Document.Kind.MARKDOWN,
    ".markdown": Document.Kind.MARKDOWN,
}
SLOW, MEMORY, BUSY = "slow", "memory", "busy"
_REASONS = {
    SLOW: "This PDF takes too long to read. Split it into smaller files.",
    MEMORY: "This PDF needs too much memory to read. Split it into smaller files.",
    BUSY: "Other files are being read. Try again in a minute.",
    pdf_worker.ENCRYPTED: "The PDF is encrypted. Save it without a password, and add it again.",
    pdf_worker.TOO_MANY_PAGES: f"The PDF has more than {MAX_PAGES} pages.",
    pdf_worker.TOO_LONG: f"The document is longer than {MAX_CHARACTERS:,} characters.",
    pdf_worker.BROKEN: "The PDF is broken and cannot be read.",
    pdf_worker.EMPTY: "The PDF holds no text, only pictures of it. Run text recognition on it first.",
}


class DocumentError(ValueError):
    """The document cannot be stored; the message can be shown to the user."""


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a file; pages of a PDF are separated by form feeds."""

    kind: Document.Kind
    text: str
    filename: str


def read_file(file: File[bytes]) -> Content:
    """Return the text of an uploaded PDF, Markdown or plain text file.

    A PDF can take `FILE_READ_SECONDS`, and as long again to wait for others. Call this outside of transactions, since
    SQLite lets nobody else write within one, and in a thread without an event loop.

    Raises:
        DocumentError: it cannot be read.
    """
    name = PurePath(file.name or "").name
    content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise DocumentError(f"The file is larger than {MAX_FILE_BYTES // 1024**2} MB.")
    suffix = PurePath(name).suffix.lower()
    if content.startswith(b"%PDF-") or suffix == ".pdf":
        return Content(Document.Kind.PDF, _read_pdf(content), name)
    if suffix not in _TEXT_KINDS:
        raise DocumentError("Only PDF (.pdf), Markdown (.md) and plain text (.txt) files can be read.")
    try:
        return Content(_TEXT_KINDS[suffix], content.decode("utf-8-sig"), name)
    except UnicodeDecodeError as exc:
        raise DocumentError("The file is not UTF-8 text.") from exc


def _read_pdf(content: bytes) -> str:
    size = len(content)
    outcome, text = _outcome(content)
    metrics.count_file(outcome)
    if outcome != pdf_worker.TEXT:
        logger.warning("A PDF of %d bytes was not read: %s", size, outcome)
        raise DocumentError(_REASONS[outcome])
    return text


def _outcome(content: bytes) -> tuple[str, str]:
    """Return how reading a PDF ended, and its text."""
    limits = ChildLimits(
        seconds=settings.FILE_READ_SECONDS,
        memory_bytes=settings.FILE_READ_MEMORY_MB * 1024**2,
        output_bytes=_MAX_OUTPUT,
        niceness=_NICENESS,
    )
    head = json.dumps({"pages": MAX_PAGES, "characters": MAX_CHARACTERS}).encode()
    with _slot(settings.FILE_READ_SECONDS) as is_free:
        if not is_free:
            return BUSY, ""
        try:
            output = run_in_child_and_wait(_WORKER, head + b"\n" + content, limits)
        except TooSlow:
            return SLOW, ""
        except TooMuchMemory:
            return MEMORY, ""
        except TooMuchOutput:
            return pdf_worker.TOO_LONG, ""
        except ChildFailed:
            return pdf_worker.BROKEN, ""
    outcome, _, text = output.decode().partition("\n")
    return outcome, text


@cache
def _slots() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(settings.FILE_READ_PROCESSES)


@contextmanager
def _slot(seconds: float) -> Iterator[bool]:
    """Take one of the places for readers; false if none became free in time."""
    is_free = _slots().acquire(timeout=seconds)
    try:
        yield is_free
    finally:
        if is_free:
            _slots().release()

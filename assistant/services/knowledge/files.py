"""Reads the text of the files that become documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from django.core.files.base import File

from assistant.models.knowledge import Document
from assistant.services.files.kinds import FileRefused, detect
from assistant.services.files.reader_turns import Uploader
from assistant.services.files.reading import read_text

MAX_FILE_BYTES = 20 * 1024 * 1024
_KINDS = {"pdf": Document.Kind.PDF, "text": Document.Kind.TEXT}


class DocumentError(ValueError):
    """The document cannot be stored; the message can be shown to the user."""


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a file; pages of a PDF are separated by form feeds.

    Attributes:
        hidden: what its readers cannot see of it, as `FileText` has it.
    """

    kind: Document.Kind
    text: str
    filename: str
    hidden: tuple[tuple[str, str], ...] = ()


def read_file(file: File[bytes], *, uploader: Uploader) -> Content:
    """Return the text of an uploaded file of any kind that `files.reading` reads, but images.

    Call this outside of transactions, and in a thread without an event loop.

    Raises:
        DocumentError: it cannot be read.
    """
    name = PurePath(file.name or "").name
    content = file.read(MAX_FILE_BYTES + 1)
    try:
        if len(content) > MAX_FILE_BYTES:
            raise FileRefused("file_too_large", f"The file is larger than {MAX_FILE_BYTES // 1024**2} MB.")
        found = detect(content, name)
        if not found.text_format:
            raise DocumentError("An image holds no text that can be searched.")
        read = read_text(content, found, uploader=uploader, tables=True)
    except FileRefused as exc:
        raise DocumentError(str(exc)) from exc
    return Content(_KINDS.get(found.text_format, Document.Kind.MARKDOWN), read.text, name, read.hidden)

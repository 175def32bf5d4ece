"""Finds out what an uploaded file is by its content; its name only must not contradict that."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from assistant.models import Attachment
from assistant.toolkit.media import IMAGE_STARTS

Kind = Attachment.Kind
Code = Literal[
    "file_type", "file_too_large", "file_encrypted", "file_unreadable", "files_busy", "file_quota", "attachments_off"
]
NOT_UTF8 = gettext_noop("The file is not UTF-8 text.")
# The marker of a PDF may be within this many bytes, as other programs accept it.
_PDF_HEAD = 1024
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# The stream of an encrypted Office document, in UTF-16.
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_ZIP = b"PK\x03\x04"
_ZIP_END, _ZIP_END_SIZE = b"PK\x05\x06", 22
_MAX_ZIP_COMMENT = 65_535
# The name of a file in a zip's directory, by which its kind is known.
_PARTS = ((b"word/", Kind.DOCX), (b"ppt/", Kind.PPTX), (b"xl/", Kind.XLSX))
OFFICE_KINDS = (Kind.DOCX, Kind.PPTX, Kind.XLSX)
MEDIA_TYPES = {
    Kind.PDF: "application/pdf",
    Kind.DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    Kind.PPTX: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    Kind.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    Kind.TEXT: "text/plain",
}
# The kind that a file must have if its name has one of these suffixes.
_PROMISES = {
    ".pdf": Kind.PDF,
    ".docx": Kind.DOCX,
    ".pptx": Kind.PPTX,
    ".xlsx": Kind.XLSX,
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp"), Kind.IMAGE),
}
_FORMATS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
}
_PLAIN = (".txt", ".text", ".csv", ".tsv", ".log")
_HTML_STARTS = ("<!doctype html", "<html")
# Control characters that text does not contain. Line ends, tabs, form feeds and escapes are allowed.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


class FileRefused(ValueError):
    """A file cannot be taken. `code` says why to programs; the message is one sentence for people."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code: Code = code


@dataclass(frozen=True, slots=True)
class FileType:
    """What a file is.

    Attributes:
        text_format: how its text is divided into passages: "pdf", "markdown", "html" (becomes Markdown) or "text"; ""
            for images and scans.
    """

    kind: Attachment.Kind
    media_type: str
    text_format: str = ""


def detect(content: bytes, name: str) -> FileType:
    """Return what a file is.

    Raises:
        FileRefused: it is empty, encrypted, of no kind that can be taken, or its name promises another.
    """
    if not content:
        raise FileRefused("file_unreadable", _("The file is empty."))
    suffix = PurePath(name).suffix.lower()
    found = _binary(content) or _text(content, suffix)
    promised = _PROMISES.get(suffix)
    if promised is not None and (found is None or found.kind is not promised):
        raise FileRefused(
            "file_type", _("The file is named %(ending)s, but its content is something else.") % {"ending": suffix}
        )
    if found is None:
        known = _(
            "This kind of file cannot be read. Known are images, PDF, Word (.docx), Excel (.xlsx), PowerPoint (.pptx), "
            "text, Markdown, HTML, CSV and code."
        )
        raise FileRefused("file_type", known)
    return found


def _binary(content: bytes) -> FileType | None:
    for media_type, start in IMAGE_STARTS.items():
        if start.match(content):
            return FileType(Kind.IMAGE, media_type)
    if b"%PDF-" in content[:_PDF_HEAD]:
        return FileType(Kind.PDF, MEDIA_TYPES[Kind.PDF], "pdf")
    if content.startswith(_OLE):
        if _ENCRYPTED in content:
            raise FileRefused(
                "file_encrypted", _("The file is encrypted. Save it without a password, and add it again.")
            )
        raise FileRefused(
            "file_type", _("This is an old Office file. Save it as .docx, .xlsx or .pptx, and add it again.")
        )
    if content.startswith(_ZIP):
        names = _zip_directory(content)
        kind = next((kind for part, kind in _PARTS if part in names and b"[Content_Types].xml" in names), None)
        return None if kind is None else FileType(kind, MEDIA_TYPES[kind], "markdown")
    return None


def _zip_directory(content: bytes) -> bytes:
    """Return the directory of a zip file, with the names of its parts. An embedded file's own names are not in it."""
    end = content.rfind(_ZIP_END, max(0, len(content) - _ZIP_END_SIZE - _MAX_ZIP_COMMENT))
    if end < 0 or len(content) < end + _ZIP_END_SIZE:
        return b""
    size, offset = struct.unpack_from("<LL", content, end + 12)
    return content[offset : offset + size]


def _text(content: bytes, suffix: str) -> FileType | None:
    try:
        text = as_text(content)
    except FileRefused:
        if suffix in _FORMATS or suffix in _PLAIN:
            raise
        return None
    if suffix not in _FORMATS and suffix not in _PLAIN and _has_control(text):
        return None
    is_html = text[:100].lstrip().lower().startswith(_HTML_STARTS)
    return FileType(Kind.TEXT, MEDIA_TYPES[Kind.TEXT], _FORMATS.get(suffix, "html" if is_html else "text"))


def _has_control(text: str) -> bool:
    return _CONTROL.search(text) is not None


def as_text(content: bytes) -> str:
    """Return a text file's text. Raises `FileRefused` if it is not UTF-8, or UTF-16 with its mark."""
    try:
        return content.decode("utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError as exc:
        raise FileRefused("file_type", _(NOT_UTF8)) from exc

"""Reads, checks and stores documents, and indexes their passages for search."""

from __future__ import annotations

import io
import re
import time
from dataclasses import dataclass
from pathlib import PurePath

from django.core.files.base import File
from django.db import models, transaction

from assistant.models.knowledge import Document, Passage
from assistant.services.knowledge.passages import split

MAX_FILE_BYTES = 20 * 1024 * 1024
MAX_CHARACTERS = 2_000_000
MAX_PAGES = 1000
# Longest time for reading a file within a web request.
MAX_SECONDS = 30.0

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")
_TEXT_KINDS = {
    ".txt": Document.Kind.TEXT,
    ".text": Document.Kind.TEXT,
    ".md": Document.Kind.MARKDOWN,
    ".markdown": Document.Kind.MARKDOWN,
}


class DocumentError(ValueError):
    """The document cannot be stored; the message can be shown to the user."""


@dataclass(frozen=True, slots=True)
class Content:
    """The text of a file; pages of a PDF are separated by form feeds."""

    kind: Document.Kind
    text: str
    filename: str


def add_document(
    *,
    tenant: models.Model,
    title: str,
    text: str | None = None,
    file: File[bytes] | None = None,
    kind: Document.Kind = Document.Kind.MARKDOWN,
) -> Document:
    """Store and index a document of a tenant, given either as text of a `kind` or as a file.

    Raises:
        DocumentError: it cannot be read, is empty or too large, or the title is taken.
    """
    if (text is None) == (file is None):
        raise TypeError("give either text or file")
    content = Content(kind, text or "", "") if file is None else read_file(file)
    document = Document(
        tenant_id=tenant.pk, title=title, kind=content.kind, text=content.text, filename=content.filename
    )
    return store_document(document=document)


@transaction.atomic
def store_document(*, document: Document) -> Document:
    """Save and index a new or changed document. Raises `DocumentError` and then changes nothing."""
    check_document(document=document)
    document.save()
    _index(document)
    return document


def check_document(*, document: Document) -> None:
    """Normalise a document's title and text. Raises `DocumentError` if it cannot be stored."""
    document.title = " ".join(_CONTROL.sub("", document.title).split())
    document.text = _clean(document.text)
    if not document.title or len(document.title) > 200:
        raise DocumentError("A document needs a title of 200 characters at most.")
    if not document.text.strip():
        raise DocumentError("The document has no text.")
    if len(document.text) > MAX_CHARACTERS:
        raise DocumentError(f"The document is longer than {MAX_CHARACTERS:,} characters.")
    others = Document.objects.filter(tenant_id=document.tenant_id, title=document.title).exclude(pk=document.pk)
    if others.exists():
        raise DocumentError(f"There is a document titled “{document.title}” already.")


def _index(document: Document) -> None:
    """Replace the document's passages. Database triggers update the full-text index."""
    Passage.objects.filter(tenant_id=document.tenant_id, document=document).delete()
    Passage.objects.bulk_create(
        [
            Passage(
                tenant_id=document.tenant_id,
                document=document,
                position=position,
                title=document.title,
                heading=piece.heading,
                page=piece.page,
                text=piece.text,
            )
            for position, piece in enumerate(split(document.text, kind=document.kind, title=document.title), start=1)
        ],
        batch_size=500,
    )


def read_file(file: File[bytes]) -> Content:
    """Return the text of an uploaded PDF, Markdown or plain text file. Raises `DocumentError`."""
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
    from pypdf import PdfReader  # imported here, because it takes a quarter of a second

    started = time.monotonic()
    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentError("The PDF is encrypted. Save it without a password, and add it again.")
        if len(reader.pages) > MAX_PAGES:
            raise DocumentError(f"The PDF has more than {MAX_PAGES} pages.")
        pages: list[str] = []
        for page in reader.pages:
            if time.monotonic() - started > MAX_SECONDS:
                raise DocumentError("The PDF takes too long to read. Split it into smaller files.")
            pages.append(page.extract_text())
    except DocumentError:
        raise
    except Exception as exc:  # pypdf documents that broken files may raise anything
        raise DocumentError("The PDF is broken and cannot be read.") from exc
    if not any(page.strip() for page in pages):
        raise DocumentError("The PDF holds no text, only pictures of it. Run text recognition on it first.")
    # Join words that are hyphenated at the end of a line.
    return "\f".join(re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", page.replace("\f", "\n")) for page in pages)


def _clean(text: str) -> str:
    """Normalise line ends and remove control characters and lone surrogates, which not every database stores."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))

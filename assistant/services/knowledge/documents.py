"""Checks and stores documents, and indexes their passages for search."""

from __future__ import annotations

import re

from django.core.files.base import File
from django.db import models, transaction

from assistant.models.knowledge import Document, Passage
from assistant.services.files.reader_turns import Uploader
from assistant.services.files.reading import MAX_CHARACTERS
from assistant.services.knowledge.files import Content, DocumentError, read_file
from assistant.services.knowledge.passages import Piece, split
from assistant.services.knowledge.stems import language_of, stems

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")


def add_document(
    *,
    tenant: models.Model,
    title: str,
    text: str | None = None,
    file: File[bytes] | None = None,
    kind: Document.Kind = Document.Kind.MARKDOWN,
    is_trusted: bool = False,
) -> Document:
    """Store and index a document of a tenant, given either as text of a `kind` or as a file.

    Args:
        is_trusted: whether its authors may instruct assistants, so that finding it does not mark a conversation.

    Raises:
        DocumentError: it cannot be read, is empty or too large, or the title is taken.
    """
    if (text is None) == (file is None):
        raise TypeError("give either text or file")
    if file is None:
        content = Content(kind, text or "", "")
    else:
        content = read_file(file, uploader=Uploader(f"tenant-{tenant.pk}"))
    document = Document(
        tenant_id=tenant.pk,
        title=title,
        kind=content.kind,
        text=content.text,
        filename=content.filename,
        hidden=[list(pair) for pair in content.hidden],
        is_trusted=is_trusted,
    )
    return store_document(document=document)


@transaction.atomic
def store_document(*, document: Document) -> Document:
    """Save and index a new or changed document. Raises `DocumentError` and then changes nothing."""
    check_document(document=document)
    document.language = language_of(document.text)
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
                stems=_stems(document, piece),
            )
            for position, piece in enumerate(split(document.text, kind=document.kind, title=document.title), start=1)
        ],
        batch_size=500,
    )


def _stems(document: Document, piece: Piece) -> str:
    texts = (document.title, piece.heading, piece.text)
    return "\n".join(" ".join(stems(text, document.language)) for text in texts)


def _clean(text: str) -> str:
    """Normalise line ends and remove control characters and lone surrogates, which not every database stores."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))

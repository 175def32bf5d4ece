"""Reads the content of a user's message: its text, and the files that it names or carries."""

from __future__ import annotations

import base64
import binascii
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import DataSource, DocumentPart, FileSource, ImagePart, TextPart, UrlSource
from django.utils.translation import gettext as _

from assistant.core.conversation.agui_messages import FILE_PROVIDER
from assistant.services.errors import Refused
from assistant.toolkit.text import clean_text

REFUSED = "attachment_refused"
# However many a tenant allows.
MAX_FILES = 50
NO_ADDRESSES = "Files are not fetched from addresses. Upload the file, and send its id."
_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w.+-]+=[^;,]*)*;base64,", re.ASCII)


@dataclass(frozen=True, slots=True)
class InlineFile:
    """A file that came within a request. It becomes an attachment before anything is stored or logged."""

    name: str
    content: bytes = field(repr=False)


File = uuid.UUID | InlineFile


def parse_parts(parts: list[Any]) -> tuple[str, tuple[File, ...]]:
    """Return the text and the files of AG-UI's content parts.

    Raises:
        Refused: `attachment_refused`, a file cannot be taken; `invalid_input`, a part is of a kind that is not known.
    """
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    media = [part for part in parts if isinstance(part, ImagePart | DocumentPart)]
    if len(texts) + len(media) < len(parts):
        raise Refused("invalid_input", "A message may have text, image and document parts only.")
    if len(media) > MAX_FILES:
        raise Refused(REFUSED, _("A message may have at most %(count)d files.") % {"count": MAX_FILES})
    return "\n".join(texts), tuple(_file(part) for part in media)


def _file(part: ImagePart | DocumentPart) -> File:
    source = part.source
    if isinstance(source, FileSource):
        if source.provider not in (None, FILE_PROVIDER):
            raise Refused(REFUSED, f"Only files of {FILE_PROVIDER} can be sent by their id.")
        return parse_file_id(source.value)
    name = name_of(part.metadata, part.type)
    if isinstance(source, DataSource):
        return InlineFile(name, decode(source.value))
    if isinstance(source, UrlSource):
        return from_url(source.value, name)
    raise Refused("invalid_input", "A file needs a source of the type data or file.")


def parse_file_id(value: object) -> uuid.UUID:
    """Return the id of an uploaded file. Raises `Refused` if it is none."""
    try:
        return uuid.UUID(value if isinstance(value, str) else "")
    except ValueError as exc:
        raise Refused(REFUSED, "A file's id must be the one that its upload returned.") from exc


def from_url(url: str, name: str) -> InlineFile:
    """Return the file within a `data:` URL. Raises `Refused` for any other URL: nothing is fetched."""
    found = _DATA_URL.match(url[:500])
    if found is None:
        raise Refused(REFUSED, NO_ADDRESSES)
    return InlineFile(name, decode(url[found.end() :]))


def decode(text: str) -> bytes:
    """Return bytes from base64. Raises `Refused`."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as exc:
        raise Refused(REFUSED, "The data of a file is not valid base64.") from exc


def name_of(metadata: object, kind: str) -> str:
    """Return the name that a part gives its file, or its kind."""
    given = metadata if isinstance(metadata, Mapping) else {}
    name = given.get("filename") or given.get("name")
    return clean_text(name)[:300] if isinstance(name, str) else kind

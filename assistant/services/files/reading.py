"""Reads the text of files: plain text here, kinds that must be parsed by what an optional app adds."""

from __future__ import annotations

from typing import NamedTuple, Protocol, cast

from django.utils.formats import number_format
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from assistant.models import Attachment
from assistant.services.files.kinds import FileRefused, FileType, as_text
from assistant.services.files.reader_turns import Uploader

MAX_CHARACTERS = 2_000_000
_PLAIN = frozenset({Attachment.Kind.IMAGE.value, Attachment.Kind.TEXT.value})
_READING_APP = "assistant.contrib.file_reading"


class FileText(NamedTuple):
    """The text of a file, and what its readers cannot see of it: pairs of a kind and an excerpt.

    Kinds are "hidden", "white", "tiny", "outside" (of the page), "invisible" (nothing is painted) and "comment". Of a
    PDF the excerpt begins with the number of the page.
    """

    text: str
    hidden: tuple[tuple[str, str], ...] = ()


class Reader(Protocol):
    """Reads PDFs, Office files and HTML pages, in a thread without an event loop."""

    def __call__(
        self, content: bytes, kind: FileType, *, uploader: Uploader, takes_scans: bool, tables: bool
    ) -> FileText:
        """Return the text as `read_text` does. Raises `FileRefused` if it cannot be read."""
        ...


_reader: str | None = None


def read_with(reader: str | None) -> None:
    """Have files that must be parsed read.

    Args:
        reader: the dotted name of a `Reader`, which is imported with the first such file; None ends it.
    """
    global _reader  # noqa: PLW0603 - of the whole process
    _reader = reader


def readable_kinds() -> frozenset[str]:
    """Return the kinds of files that are read here."""
    return _PLAIN if _reader is None else frozenset(Attachment.Kind.values)


def check_readable(kind: FileType) -> None:
    """Raise `FileRefused` for a file that must be parsed where nothing does."""
    if _reader is None and _must_be_parsed(kind):
        sentence = _("Files of this type are read by the app %(app)s, which is not installed here.")
        raise FileRefused("file_type", sentence % {"app": _READING_APP})


def read_text(
    content: bytes, kind: FileType, *, uploader: Uploader, takes_scans: bool = False, tables: bool = False
) -> FileText:
    """Return the text of a file: of PDFs with form feeds between pages, of Word, Excel, PowerPoint and HTML files as
    Markdown.

    Args:
        uploader: whose file it is: groups take turns, and what reading takes is counted.
        takes_scans: of a PDF without text, return the form feeds between its pages in place of refusing it.
        tables: whether the rows of Excel sheets are tables of Markdown, in place of CSV.

    A parsed file can take `ASSISTANT_FILE_READ_SECONDS`, and as long again to wait for others. Call this outside of
    transactions, since SQLite lets nobody else write within one, and in a thread without an event loop.

    Raises:
        FileRefused: it cannot be read.
    """
    if kind.kind is Attachment.Kind.IMAGE:
        return FileText("")
    check_readable(kind)
    if _reader is not None and _must_be_parsed(kind):
        read = cast(Reader, import_string(_reader))
        return read(content, kind, uploader=uploader, takes_scans=takes_scans, tables=tables)
    text = as_text(content)
    if len(text) > MAX_CHARACTERS:
        raise too_long()
    if not text.strip():
        raise empty()
    return FileText(text)


def _must_be_parsed(kind: FileType) -> bool:
    return kind.kind.value not in _PLAIN or kind.text_format == "html"


def too_long() -> FileRefused:
    """Return the refusal of a file whose text is longer than `MAX_CHARACTERS`."""
    number = number_format(MAX_CHARACTERS, force_grouping=True)
    return FileRefused(
        "file_too_large", _("The document is longer than %(characters)s characters.") % {"characters": number}
    )


def empty() -> FileRefused:
    """Return the refusal of a file without text."""
    return FileRefused("file_unreadable", _("The document has no text."))


def no_text() -> FileRefused:
    """Return the refusal of a PDF that holds only pictures of its pages."""
    return FileRefused(
        "file_unreadable", _("The file holds no text, only pictures of it. Run text recognition on it first.")
    )


def broken() -> FileRefused:
    """Return the refusal of a file whose content cannot be understood."""
    return FileRefused("file_unreadable", _("The file is broken and cannot be read."))


def busy() -> FileRefused:
    """Return the refusal of a file for which no reader became free in time."""
    return FileRefused("files_busy", _("Other files are being read. Try again in a minute."))

"""Parses files in child processes with limits of time and memory, as the core's `services.files.reading` asks."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from assistant.contrib.file_reading import ocr_worker, office_worker, pdf_worker
from assistant.contrib.file_reading.reader_seconds import KnownFiles, ReaderSeconds
from assistant.models import Attachment
from assistant.services import metrics
from assistant.services.files.kinds import Code, FileRefused, FileType, as_text
from assistant.services.files.reader_turns import FairPlaces, Uploader
from assistant.services.files.reading import MAX_CHARACTERS, FileText, broken, busy, empty, no_text, too_long
from assistant.toolkit.processes.child import (
    ChildFailed,
    ChildLimits,
    TooMuchMemory,
    TooMuchOutput,
    TooSlow,
    run_in_child_and_wait,
)

logger = logging.getLogger(__name__)

MAX_PAGES = 1000
# Pages of a scan, of which each takes about a second to recognise.
MAX_SCANNED_PAGES = 100
# A result in UTF-8, with its first line.
_MAX_OUTPUT = 4 * MAX_CHARACTERS + 100
# Readers run at a lower priority than the server's event loop.
_NICENESS = 10
_PDF = Path(pdf_worker.__file__)
_OFFICE = Path(office_worker.__file__)
_OCR = Path(ocr_worker.__file__)
# What they import in their processes.
_PACKAGES = {
    _PDF: ("pypdf",),
    _OFFICE: ("mammoth", "python_calamine", "markdownify"),
    _OCR: ("pypdf", "rapidocr", "onnxruntime", "PIL"),
}
SLOW = "slow"
MEMORY = "memory"
QUOTA = "quota"
_BUSY = "busy"
SCAN = "scan"
SCAN_WHILE_OFF = "scan_while_off"
# By outcome.
_REASONS: Mapping[str, tuple[Code, str]] = {
    SLOW: ("file_unreadable", gettext_noop("This file takes too long to read. Split it into smaller files.")),
    MEMORY: (
        "file_unreadable",
        gettext_noop("This file needs too much memory to read. Split it into smaller files."),
    ),
    QUOTA: (
        "files_busy",
        gettext_noop("Your files have taken much time to read. Try again in a few minutes."),
    ),
    pdf_worker.ENCRYPTED: (
        "file_encrypted",
        gettext_noop("The file is encrypted. Save it without a password, and add it again."),
    ),
    pdf_worker.TOO_MANY_PAGES: ("file_too_large", gettext_noop("The file has more than %(pages)s pages.")),
    pdf_worker.BOMB: ("file_too_large", gettext_noop("The file unpacks to more than can be read.")),
    SCAN: (
        "file_unreadable",
        gettext_noop(
            "The file is a scan: it holds pictures of pages and no text. Run text recognition on it first, or ask the "
            "server's operators to install tenant-assistant[ocr], which reads scans."
        ),
    ),
    SCAN_WHILE_OFF: (
        "file_unreadable",
        gettext_noop(
            "The file is a scan: it holds pictures of pages and no text. Run text recognition on it first, or ask the "
            "server's operators to switch it on here, where it is switched off."
        ),
    ),
    ocr_worker.TOO_MANY_PAGES: (
        "file_too_large",
        gettext_noop("The file is a scan of more than %(scanned)s pages. Split it into smaller files."),
    ),
    ocr_worker.EMPTY: (
        "file_unreadable",
        gettext_noop("The file is a scan, and no words were recognised in its pictures."),
    ),
}
_COMMON: Mapping[str, Callable[[], FileRefused]] = {
    _BUSY: busy,
    pdf_worker.TOO_LONG: too_long,
    pdf_worker.BROKEN: broken,
    pdf_worker.EMPTY: no_text,
}


def read(content: bytes, kind: FileType, *, uploader: Uploader, takes_scans: bool, tables: bool) -> FileText:
    """Return the text of a PDF, Office file or HTML page, as a `Reader` does.

    Scanned PDFs are recognised where the extra `ocr` is installed, unless scans are taken as they are.
    """
    if kind.kind is Attachment.Kind.PDF:
        return _parsed(content, _PDF, {"pages": MAX_PAGES}, "PDF", uploader, takes_empty=takes_scans)
    if kind.kind is Attachment.Kind.TEXT:
        page = as_text(content).encode(errors="replace")
        return _parsed(page, _OFFICE, {"format": "html"}, "file", uploader)
    is_sheet = tables and kind.kind is Attachment.Kind.XLSX
    form = f"{kind.kind.value} tables" if is_sheet else kind.kind.value
    return _parsed(content, _OFFICE, {"format": form}, "file", uploader)


def _parsed(
    content: bytes,
    worker: Path,
    task: Mapping[str, Any],
    what: str,
    uploader: Uploader,
    *,
    takes_empty: bool = False,
) -> FileText:
    if missing := [name for name in _PACKAGES[worker] if find_spec(name) is None]:
        logger.error("Reading files needs packages (%s): pip install 'tenant-assistant[documents]'", ", ".join(missing))
        raise FileRefused("file_unreadable", _("Files of this type cannot be read here."))
    size = len(content)
    head = json.dumps({**task, "characters": MAX_CHARACTERS}).encode()
    outcome, found = _outcome(worker, head, content, uploader)
    if outcome == pdf_worker.EMPTY and worker is _PDF and not takes_empty:
        outcome, found = _recognised(content, uploader)
    metrics.counting().count_file(outcome)
    if outcome != pdf_worker.TEXT and not (takes_empty and outcome == pdf_worker.EMPTY):
        logger.warning("A %s of %d bytes was not read: %s", what, size, outcome)
        if outcome == pdf_worker.EMPTY and worker is _OFFICE:
            raise empty()
        raise _refused(outcome)
    return found


def reads_scans() -> bool:
    """Return whether scanned PDFs are recognised here: the extra is installed, and no setting switches it off."""
    return settings.ASSISTANT_OCR_SECONDS > 0 and all(find_spec(name) is not None for name in _PACKAGES[_OCR])


def _recognised(content: bytes, uploader: Uploader) -> tuple[str, FileText]:
    if not reads_scans():
        return (SCAN if settings.ASSISTANT_OCR_SECONDS > 0 else SCAN_WHILE_OFF), _NOTHING
    head = json.dumps({"pages": MAX_SCANNED_PAGES, "characters": MAX_CHARACTERS}).encode()
    return _outcome(_OCR, head, content, uploader)


def _refused(outcome: str) -> FileRefused:
    if outcome in _COMMON:
        return _COMMON[outcome]()
    code, sentence = _REASONS[outcome]
    return FileRefused(code, _(sentence) % {"pages": MAX_PAGES, "scanned": MAX_SCANNED_PAGES})


def _outcome(worker: Path, head: bytes, content: bytes, uploader: Uploader) -> tuple[str, FileText]:
    """Return how reading a file ended, and its text."""
    known = _known_files.outcome(content)
    if known is not None:
        return known, _NOTHING
    seconds = _reader_seconds(settings.ASSISTANT_FILE_READ_SECONDS)
    if seconds.wait(uploader):
        return QUOTA, _NOTHING
    with _places(settings.ASSISTANT_FILE_READ_PROCESSES).held(
        uploader, settings.ASSISTANT_FILE_READ_SECONDS
    ) as is_held:
        if not is_held:
            return _BUSY, _NOTHING
        begun_at = time.monotonic()
        try:
            outcome, found = _read_in_child(worker, head + b"\n" + content)
        finally:
            seconds.count(uploader, time.monotonic() - begun_at)
    if outcome in (SLOW, MEMORY):
        _known_files.add(content, outcome)
    return outcome, found


def _read_in_child(worker: Path, task: bytes) -> tuple[str, FileText]:
    is_scan = worker is _OCR
    memory = settings.ASSISTANT_OCR_MEMORY_MB if is_scan else settings.ASSISTANT_FILE_READ_MEMORY_MB
    limits = ChildLimits(
        seconds=settings.ASSISTANT_OCR_SECONDS if is_scan else settings.ASSISTANT_FILE_READ_SECONDS,
        memory_bytes=memory * 1024**2,
        output_bytes=_MAX_OUTPUT,
        niceness=_NICENESS,
    )
    try:
        output = run_in_child_and_wait(worker, task, limits)
    except TooSlow:
        return SLOW, _NOTHING
    except TooMuchMemory:
        return MEMORY, _NOTHING
    except TooMuchOutput:
        return pdf_worker.TOO_LONG, _NOTHING
    except ChildFailed:
        return pdf_worker.BROKEN, _NOTHING
    line, _, text = output.decode().partition("\n")
    outcome, _, marks = line.partition(" ")
    hidden = tuple((str(kind), str(excerpt)) for kind, excerpt in json.loads(marks or "[]"))
    return outcome, FileText(text, hidden)


_NOTHING = FileText("")
_known_files = KnownFiles()


@cache
def _reader_seconds(seconds: float) -> ReaderSeconds:
    return ReaderSeconds(seconds)


@cache
def _places(count: int) -> FairPlaces:
    return FairPlaces(count)

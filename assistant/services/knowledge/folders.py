"""Adds the files of folders to a tenant's documents, one by one, with a line about each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from django.core.files.base import File
from django.db import models, transaction

from assistant.models.knowledge import Document
from assistant.services.files.reader_turns import Uploader
from assistant.services.knowledge.documents import check_document, store_document
from assistant.services.knowledge.files import Content, DocumentError, read_file
from assistant.services.tenancy import audit_trail

# Files of one call.
MAX_FILES = 10_000


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of a file; `problem` says why it was refused."""

    path: Path
    outcome: Literal["added", "replaced", "unchanged", "refused"]
    title: str = ""
    problem: str = ""


def files_in(paths: Iterable[Path]) -> list[Path]:
    """Return the files among the paths and in those that are folders, in the order of their names.

    Hidden files and folders and symbolic links in folders are passed over.

    Raises:
        DocumentError: a path does not exist, or there are too many files.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise DocumentError(f"There is no {path}.")
        found.update(dict.fromkeys(_inside(path) if path.is_dir() else [path]))
        if len(found) > MAX_FILES:
            raise DocumentError(f"There are more than {MAX_FILES:,} files.")
    return list(found)


def _inside(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from _inside(path)
        elif path.is_file():
            yield path


def add_files(
    *, tenant: models.Model, paths: Iterable[Path], actor: audit_trail.Actor, is_trusted: bool = False
) -> Iterator[FileReport]:
    """Store each file as a document, and yield what became of it.

    A document's title is its first heading of level one, else the file's name. A file replaces the document that was
    has its title, else the only one that was read from a file of its name, in one transaction, so that one of the two
    is always found. Files of one call replace none of each other.
    """
    stored: set[int] = set()
    for path in paths:
        try:
            yield _add(tenant, path, actor, is_trusted, stored)
        except (DocumentError, OSError) as exc:
            yield FileReport(path, "refused", problem=str(exc))


def _add(tenant: models.Model, path: Path, actor: audit_trail.Actor, is_trusted: bool, stored: set[int]) -> FileReport:
    with path.open("rb") as file:
        content = read_file(File(file, name=path.name), uploader=Uploader(f"tenant-{tenant.pk}", is_operator=True))
    title = _title(content, path)
    documents = Document.objects.filter(tenant_id=tenant.pk)
    known = documents.filter(title=title).first() or _of_filename(documents, content.filename, stored)
    if known is not None and known.pk in stored:
        raise DocumentError(f"Another of these files has the title “{title}”.")
    document = known or Document(tenant_id=tenant.pk)
    before = (document.title, document.text, document.is_trusted)
    document.title = title
    document.kind = content.kind
    document.text = content.text
    document.filename = content.filename
    document.is_trusted = is_trusted
    check_document(document=document)
    if known is not None and before == (document.title, document.text, document.is_trusted):
        stored.add(known.pk)
        return FileReport(path, "unchanged", document.title)
    with transaction.atomic():
        store_document(document=document)
        audit_trail.record(
            actor=actor,
            action="document.add" if known is None else "document.replace",
            target=document.title,
            tenant=document.tenant,
            details={"filename": document.filename, "is_trusted": is_trusted},
        )
    stored.add(document.pk)
    return FileReport(path, "added" if known is None else "replaced", document.title)


def _of_filename(documents: models.QuerySet[Document], filename: str, stored: set[int]) -> Document | None:
    """Return the document that was read from a file of this name; None if there are several, as of `index.md`."""
    found = list(documents.filter(filename=filename).exclude(pk__in=stored)[:2])
    return found[0] if len(found) == 1 else None


def _title(content: Content, path: Path) -> str:
    first = content.text.lstrip().partition("\n")[0]
    is_heading = content.kind == Document.Kind.MARKDOWN and first.startswith("# ")
    return (first.removeprefix("# ").strip() if is_heading else path.stem.replace("_", " "))[:200]

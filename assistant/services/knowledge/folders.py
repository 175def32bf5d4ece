"""Adds the files of folders to a tenant's documents, one by one, with a line about each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

from django.apps import apps
from django.core.files.base import File
from django.db import models, transaction

from assistant.models.knowledge import Document
from assistant.services.files.reader_turns import Uploader
from assistant.services.knowledge.documents import check_document, store_document
from assistant.services.knowledge.files import Content, DocumentError, read_file
from assistant.services.knowledge.places import place
from assistant.services.knowledge.source_changes import KEEPERS
from assistant.services.tenancy import audit_trail

# Files of one call.
MAX_FILES = 10_000
MAX_TITLE = 200


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
    *,
    tenant: models.Model,
    paths: Iterable[Path],
    actor: audit_trail.Actor,
    is_trusted: bool = False,
    collection: str = "",
) -> Iterator[FileReport]:
    """Store each file as a document, and yield what became of it.

    A document's title is its first heading of level one, else the file's name. A file replaces the document that
    has its title, else the only one that was read from a file of its name, in one transaction, so that one of the two
    is always found. Files of one call replace none of each other.

    Args:
        collection: the name of a collection to put them into, in the same transaction; "" leaves them where they are,
            and new ones in none.
    """
    stored: set[int] = set()
    uploader = Uploader(f"tenant-{tenant.pk}", is_operator=True)
    for path in paths:
        try:
            with path.open("rb") as file:
                content = read_file(File(file, name=path.name), uploader=uploader)
            kept = store_content(
                tenant=tenant,
                content=content,
                actor=actor,
                is_trusted=is_trusted,
                collection=collection,
                others=stored,
            )
            stored.add(kept.document.pk)
            yield FileReport(path, kept.outcome, kept.document.title)
        except (DocumentError, OSError) as exc:
            yield FileReport(path, "refused", problem=str(exc))


@dataclass(frozen=True, slots=True)
class Kept:
    """A document that a file became, and whether it is new."""

    document: Document
    outcome: Literal["added", "replaced", "unchanged"]


def store_content(
    *,
    tenant: models.Model,
    content: Content,
    actor: audit_trail.Actor,
    title: str = "",
    is_trusted: bool = False,
    collection: str = "",
    others: Collection[int] = (),
) -> Kept:
    """Store what was read from a file as a document, in one transaction; what has not changed is left alone.

    Args:
        title: "" for the first heading of level one, else the file's name.
        collection: the name of a collection to put it into; "" leaves it where it is.
        others: documents that it must not replace.

    Raises:
        DocumentError: it cannot be stored, there is no such collection, or it would replace one of the others.
    """
    title = " ".join(title.split()) or title_of(content)
    documents = _uploaded(tenant.pk)
    known = documents.filter(title=title).first() or _of_filename(documents, content.filename, others)
    if known is not None and known.pk in others:
        raise DocumentError(f"Another of these files has the title “{title}”.")
    return replace_content(
        tenant=tenant,
        known=known,
        content=content,
        title=title,
        actor=actor,
        is_trusted=is_trusted,
        collection=collection,
    )


def replace_content(
    *,
    tenant: models.Model,
    known: Document | None,
    content: Content,
    title: str,
    actor: audit_trail.Actor,
    is_trusted: bool,
    collection: str = "",
) -> Kept:
    """Store a text as a new document or in place of one, in one transaction, so that one of the two is always found.

    Raises:
        DocumentError: it cannot be stored, or there is no such collection.
    """
    document = known or Document(tenant_id=tenant.pk)
    before = (document.title, document.text, document.is_trusted, document.hidden)
    document.title = title
    document.kind = content.kind
    document.text = content.text
    document.filename = content.filename
    document.hidden = [list(pair) for pair in content.hidden]
    document.is_trusted = is_trusted
    check_document(document=document)
    after = (document.title, document.text, document.is_trusted, document.hidden)
    is_same = known is not None and before == after
    with transaction.atomic():
        if not is_same:
            store_document(document=document)
            audit_trail.record(
                actor=actor,
                action="document.add" if known is None else "document.replace",
                target=document.title,
                tenant=document.tenant,
                details={"filename": document.filename, "is_trusted": is_trusted},
            )
        if collection:
            place(tenant=document.tenant, document_ids=[document.pk], name=collection, actor=actor)
    return Kept(document, "unchanged" if is_same else "added" if known is None else "replaced")


def _uploaded(tenant_id: int) -> models.QuerySet[Document]:
    """Return the documents that no website, folder or row has: what those come from would replace an upload again."""
    documents = Document.objects.filter(tenant_id=tenant_id)
    for model in map(apps.get_model, KEEPERS):
        kept = model._default_manager.filter(tenant_id=tenant_id, document__isnull=False).values("document")
        documents = documents.exclude(pk__in=kept)
    return documents


def _of_filename(documents: models.QuerySet[Document], filename: str, others: Collection[int]) -> Document | None:
    """Return the document that was read from a file of this name; None if there are several, as of `index.md`."""
    found = list(documents.exclude(filename="").filter(filename=filename).exclude(pk__in=others)[:2])
    return found[0] if len(found) == 1 else None


def title_of(content: Content) -> str:
    """Return the title of what was read from a file: its first heading of level one, else the file's name."""
    first = content.text.lstrip().partition("\n")[0]
    is_heading = content.kind == Document.Kind.MARKDOWN and first.startswith("# ")
    named = PurePath(content.filename).stem.replace("_", " ")
    return " ".join((first.removeprefix("# ") if is_heading else named).split())[:MAX_TITLE]

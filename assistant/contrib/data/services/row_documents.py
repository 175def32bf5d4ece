"""Makes documents of the project's rows, and keeps them as the rows are. Who finds them, the rows' rules say."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from typing import Any

from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from assistant.contrib.data.knowledge_sources import KnowledgeSource, declared_sources
from assistant.contrib.data.models import RowDocument
from assistant.contrib.data.services.documents import visible_keys
from assistant.contrib.data.services.tenant_conditions import of_tenant
from assistant.models import Document, Tenant
from assistant.services.db.fast_paths.prepared_queries import PreparedQuery
from assistant.services.files.reader_turns import Uploader
from assistant.services.knowledge.documents import store_document
from assistant.services.knowledge.files import Content, DocumentError, read_file
from assistant.services.knowledge.folders import MAX_TITLE
from assistant.services.knowledge.reach import Narrowing
from assistant.services.tenancy.members import tenant_info
from assistant.toolkit import ToolContext, ToolError

logger = logging.getLogger(__name__)

# Rows of a tenant and model that become documents, and documents of rows that are looked at in one question.
MAX_ROWS = 10_000
# Rows of one batch.
BATCH = 100


def source_of(label: str) -> KnowledgeSource | None:
    """Return the source of a model, by its label in any case; None if its rows are no knowledge."""
    return next((one for one in declared_sources() if one.label.lower() == label.lower()), None)


def rows_of_tenant(source: KnowledgeSource, tenant: Tenant) -> Any:
    """Return the rows of a tenant that are knowledge now, by primary key; none of a tenant that the model has not."""
    base = source.model._base_manager
    try:
        condition = of_tenant(source.model, ToolContext(tenant=tenant_info(tenant)))
    except ToolError:
        return base.none()
    return base.filter(condition, pk__in=source.rows().order_by().values("pk")).order_by("pk")


def sync_batch(*, tenant_id: int, label: str, after: Any) -> Any:
    """Make and replace the documents of the next rows of a tenant. Call it outside of transactions.

    Args:
        after: the primary key of the last row of the batch before; None to begin.

    Returns:
        That of this batch's last row; None after the last batch.
    """
    source = source_of(label)
    tenant = Tenant.objects.filter(pk=tenant_id, is_active=True).first()
    if source is None or tenant is None:
        return None
    rows = rows_of_tenant(source, tenant)
    found = list((rows if after is None else rows.filter(pk__gt=after))[:BATCH])
    for row in found:
        sync_row(source=source, tenant=tenant, row=row)
    return found[-1].pk if len(found) == BATCH else None


def remove_batch(*, tenant_id: int, label: str, after: int) -> int | None:
    """Delete the next documents of a tenant whose rows are gone, or are knowledge no more.

    Args:
        after: the last `RowDocument` of the batch before; 0 to begin.

    Returns:
        The last one of this batch; None after the last batch.
    """
    tenant = Tenant.objects.filter(pk=tenant_id).first()
    entries = RowDocument.objects.filter(tenant_id=tenant_id, row_model=label, pk__gt=after).order_by("pk")
    found = list(entries[:BATCH])
    if tenant is None or not found:
        return None
    source = source_of(label)
    keys = {entry.row_key for entry in found}
    kept = frozenset[str]() if source is None else _present(source, tenant, keys)
    gone = [entry.document_id for entry in found if entry.row_key not in kept]
    Document.objects.filter(tenant_id=tenant_id, pk__in=gone).delete()
    return found[-1].pk if len(found) == BATCH else None


def sync_key(*, tenant_id: int, label: str, key: str) -> None:
    """Make, replace or delete the document of one row of a tenant. Call it outside of transactions."""
    source = source_of(label)
    tenant = Tenant.objects.filter(pk=tenant_id, is_active=True).first()
    row = None
    if source is not None and tenant is not None:
        row = rows_of_tenant(source, tenant).filter(pk=key).first()
        if row is not None:
            sync_row(source=source, tenant=tenant, row=row)
            return
    entries = RowDocument.objects.filter(tenant_id=tenant_id, row_model=label, row_key=key)
    Document.objects.filter(tenant_id=tenant_id, pk__in=entries.values("document_id")).delete()


def sync_row(*, source: KnowledgeSource, tenant: Tenant, row: Any) -> None:
    """Store the document of a row if its title or text has changed; one that cannot be a document is logged."""
    number = str(row.pk)
    entry = RowDocument.objects.filter(tenant=tenant, row_model=source.label, row_key=number).first()
    try:
        title = " ".join(source.title_of(row).split())
        text = source.text_of(row)
        digest = hashlib.sha256(
            f"{source.kind}\n{source.is_trusted}\n{title}\n{text}".encode(errors="replace")
        ).hexdigest()
        if entry is not None and entry.digest == digest:
            return
        content = _content(source, text, tenant)
        wanted = RowDocument(tenant=tenant, row_model=source.label, row_key=number, digest=digest)
        _store(source, wanted, entry, title or f"{source.model._meta.verbose_name} {number}", content)
    except DocumentError as exc:
        logger.warning("%s %s of tenant %s is not found by assistants: %s", source.label, number, tenant.slug, exc)
        _forget(tenant, entry)
    except Exception:
        logger.exception("%s %s of tenant %s cannot be read", source.label, number, tenant.slug)
        _forget(tenant, entry)


def _forget(tenant: Tenant, entry: RowDocument | None) -> None:
    """Delete the document of a row that holds another text now: nobody should be told the old one."""
    if entry is not None:
        Document.objects.filter(tenant=tenant, pk=entry.document_id).delete()


def _content(source: KnowledgeSource, text: str, tenant: Tenant) -> Content:
    if source.kind == "html":
        if not text.strip():
            raise DocumentError("The document has no text.")
        file = ContentFile(text.encode(errors="replace"), name="row.html")
        return read_file(file, uploader=Uploader(f"tenant-{tenant.pk}", is_operator=True))
    return Content(Document.Kind(source.kind), text, "")


@transaction.atomic
def _store(
    source: KnowledgeSource, wanted: RowDocument, entry: RowDocument | None, title: str, content: Content
) -> None:
    document = entry.document if entry is not None else Document(tenant=wanted.tenant)
    document.title = _free_title(wanted, title, document)
    document.kind = content.kind
    document.text = content.text
    document.is_trusted = source.is_trusted
    store_document(document=document)
    RowDocument.objects.update_or_create(
        tenant=wanted.tenant,
        row_model=wanted.row_model,
        row_key=wanted.row_key,
        defaults={"document": document, "digest": wanted.digest},
    )


def _free_title(wanted: RowDocument, title: str, own: Document) -> str:
    """Return a title that no other document of the tenant has: rows may share theirs."""
    others = Document.objects.filter(tenant=wanted.tenant, title=title[:MAX_TITLE])
    is_taken = (others if own.pk is None else others.exclude(pk=own.pk)).exists()
    ending = f" ({wanted.row_key})" if is_taken else ""
    return f"{title[: MAX_TITLE - len(ending)].rstrip()}{ending}"


def _present(source: KnowledgeSource, tenant: Tenant, keys: frozenset[str] | set[str]) -> frozenset[str]:
    return frozenset(map(str, rows_of_tenant(source, tenant).filter(pk__in=keys).values_list("pk", flat=True)))


def narrowing_of(context: ToolContext) -> Narrowing | None:
    """Leave somebody the documents of those rows that they may see now, and that are knowledge still.

    One query where a tenant has no documents of rows.
    """
    tenant_id = context.tenant.pk
    by_model: dict[str, dict[str, int]] = {}
    for document_id, model, key in _ENTRIES.rows(tenant_id=tenant_id):
        by_model.setdefault(model, {})[key] = document_id
    if not by_model:
        return None
    seen = sorted(document for model, keys in by_model.items() for document in _seen(context, model, keys))
    here = RowDocument.objects.filter(tenant_id=tenant_id, document=OuterRef("pk"))
    digest = "rows " + hashlib.sha256(",".join(map(str, seen)).encode()).hexdigest()
    return Narrowing((~Q(Exists(here.exclude(document__in=seen))),), digest, digest)


def _entries(*, tenant_id: int) -> QuerySet[RowDocument, tuple[int, str, str]]:
    entries = RowDocument.objects.filter(tenant_id=tenant_id).order_by("pk")
    return entries.values_list("document_id", "row_model", "row_key")[:MAX_ROWS]


# Asked before each request to a model that may search documents.
_ENTRIES = PreparedQuery(_entries, tenant_id=int)


def _seen(context: ToolContext, model: str, keys: dict[str, int]) -> Sequence[int]:
    source = source_of(model)
    if source is None:
        return []
    visible = visible_keys(context, model, frozenset(keys))
    if not visible:
        return []
    try:
        wanted = source.rows().order_by().values("pk")
        rows = source.model._base_manager.filter(pk__in=visible).filter(pk__in=wanted)
        current = frozenset(map(str, rows.values_list("pk", flat=True)))
    except Exception:
        logger.exception("Which rows of %s are knowledge cannot be asked; their documents are not found", model)
        return []
    return [document for key, document in keys.items() if key in current]

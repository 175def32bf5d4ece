"""Keeps what readings of sources find: documents, what is known of each page, and the report."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.contrib.sources.models import Source, SourcePage
from assistant.contrib.sources.services.pages import Known, Page, Plan
from assistant.models import Document, Tenant
from assistant.services.knowledge.changes import delete_document
from assistant.services.knowledge.files import DocumentError
from assistant.services.knowledge.folders import MAX_TITLE, replace_content, title_of
from assistant.services.knowledge.source_changes import announce
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.audit_trail import Actor

Outcome = Literal["added", "replaced", "unchanged", "skipped", "missing", "removed"]
OUTCOMES: tuple[Outcome, ...] = ("added", "replaced", "removed", "missing", "skipped", "unchanged")
# Lines of a report about what is not unchanged.
MAX_LINES = 300
# A source that failed is read again after this time at the latest.
AFTER_FAILURE = timedelta(hours=1)
# So many may be missing at once before that is taken for a fault of the source.
FEW = 3


@dataclass(frozen=True, slots=True)
class Line:
    """What became of a page, and why."""

    outcome: Outcome
    address: str
    about: str = ""


def begin(*, tenant_id: int, source_id: int) -> Plan | None:
    """Return a source to read; None if it is switched off or deleted, or its tenant is."""
    rows = Source.objects.filter(tenant_id=tenant_id, pk=source_id, is_on=True, tenant__is_active=True)
    source = rows.first()
    if source is None:
        return None
    now = timezone.now()
    rows.update(began_at=now)
    # What is set for it is applied to pages that have not changed too.
    parts = (source.place, source.collection, source.is_trusted, source.max_pages, source.max_depth)
    read_as = hashlib.sha256(repr(parts).encode()).hexdigest()
    known: dict[str, Known] = {}
    # An unchanged page says nothing of its links, some of which have not been read if the last reading was cut short.
    is_whole = source.state == Source.State.DONE
    for page in SourcePage.objects.filter(tenant_id=tenant_id, source=source).order_by("depth", "pk"):
        is_kept = is_whole and page.document_id is not None and page.read_as == read_as and page.missing_since is None
        known[page.address] = (
            Known(page.depth, page.validator, page.modified, page.digest) if is_kept else Known(page.depth)
        )
    return Plan(
        tenant_id=tenant_id,
        source_id=source.pk,
        kind=source.kind,
        place=source.place,
        collection=source.collection,
        is_trusted=source.is_trusted,
        max_pages=source.max_pages,
        max_depth=source.max_depth,
        known=known,
        read_as=read_as,
        began_at=now,
    )


@transaction.atomic
def keep(plan: Plan, page: Page) -> Line | None:
    """Store what became of a page, its document too; None of one that is gone, about which the end decides."""
    if page.outcome == "gone" or not Source.objects.filter(tenant_id=plan.tenant_id, pk=plan.source_id).exists():
        return None
    rows = SourcePage.objects.filter(tenant_id=plan.tenant_id, source_id=plan.source_id, address=page.address)
    row = rows.select_related("document").first() or SourcePage(
        tenant_id=plan.tenant_id, source_id=plan.source_id, address=page.address
    )
    row.depth = page.depth
    row.seen_at = timezone.now()
    line = Line("skipped", page.address, page.about)
    if page.outcome == "skipped":
        row.is_outdated = row.is_outdated or page.has_changed
    else:
        line = _store(plan, page, row)
    row.save()
    return line


def _store(plan: Plan, page: Page, row: SourcePage) -> Line:
    """Store a page's document, if it has changed, and what tells next time whether it has."""
    outcome: Outcome = "unchanged"
    if page.content is not None:
        content = page.content
        if row.document is not None and page.digest and page.digest == row.digest:
            # As it was when the document was changed by hand, which stays: it is read for what is set for the source.
            content = replace(content, text=row.document.text, hidden=tuple(map(tuple, row.document.hidden)))
            title = row.document.title
        else:
            title = _free_title(plan, page.title or title_of(content), page.address, row.document_id)
        try:
            kept = replace_content(
                tenant=Tenant.objects.get(pk=plan.tenant_id),
                known=row.document,
                content=content,
                title=title,
                actor=None,
                is_trusted=plan.is_trusted,
                collection=plan.collection,
            )
        except DocumentError as exc:
            row.is_outdated = True
            return Line("skipped", page.address, str(exc))
        row.document = kept.document
        outcome = kept.outcome
    row.validator = page.validator
    row.modified = page.modified
    row.digest = page.digest or row.digest
    row.read_as = plan.read_as
    row.is_outdated = False
    row.missing_since = None
    return Line(outcome, page.address, row.document.title if row.document is not None else "")


def _free_title(plan: Plan, title: str, address: str, document_id: int | None) -> str:
    """Return a title that no other document of the tenant has: with the page's address, if one does."""
    title = " ".join(title.split())[:MAX_TITLE]
    others = Document.objects.filter(tenant_id=plan.tenant_id, title=title).exclude(pk=document_id or 0)
    return f"{title[:110]} ({address[-80:]})" if others.exists() else title


def end(
    plan: Plan, *, lines: Sequence[Line], gone: Sequence[Page], is_complete: bool, problem: str, has_failed: bool
) -> Source | None:
    """Store how a reading has ended, and mark or remove documents whose pages are gone; None of a deleted source.

    A page that is missing is marked first, and its document removed by the next reading that misses it too: a site
    that is being worked on answers for a while that its pages are not there. If more than half are missing at once,
    none is removed.

    Args:
        is_complete: whether all pages were looked at, so that those of a folder that were not seen are gone.
    """
    with transaction.atomic():
        source = Source.objects.select_for_update().filter(tenant_id=plan.tenant_id, pk=plan.source_id).first()
        if source is None:
            return None
        found = list(lines)
        if not has_failed:
            missing = _missing(plan, gone, is_complete=is_complete)
            rows = SourcePage.objects.filter(tenant_id=plan.tenant_id, source=source)
            is_doubtful = len(missing) > max(FEW, rows.exclude(document=None).count() // 2)
            if is_doubtful:
                problem = problem or _("More than half of its pages are missing: their documents stay, marked.")
            for row, about in missing:
                found.append(_miss(row, about, removes=not is_doubtful))
            if is_complete:
                rows.filter(document=None).exclude(seen_at__gte=plan.began_at).delete()
        counts = Counter(line.outcome for line in found)
        shown = [line for outcome in OUTCOMES[:-1] for line in found if line.outcome == outcome]
        source.state = _state(has_failed=has_failed, problem=problem)
        source.problem = problem[:300]
        source.ended_at = timezone.now()
        period = timedelta(hours=source.every_hours)
        source.next_at = source.ended_at + (min(period, AFTER_FAILURE) if has_failed else period)
        source.report = {
            "counts": {outcome: counts[outcome] for outcome in OUTCOMES if counts[outcome]},
            "lines": [[line.outcome, line.address, line.about] for line in shown[:MAX_LINES]],
        }
        source.save(update_fields=["state", "problem", "ended_at", "next_at", "report"])
        if counts["added"] or counts["replaced"] or counts["removed"]:
            details = {"counts": source.report["counts"], "kind": source.kind}
            audit_trail.record(
                actor=None, action="source.refresh", target=source.place, tenant=source.tenant, details=details
            )
    announce(plan.tenant_id)
    return source


def _state(*, has_failed: bool, problem: str) -> str:
    if has_failed:
        return Source.State.FAILED
    return Source.State.PARTLY if problem else Source.State.DONE


def _missing(plan: Plan, gone: Sequence[Page], *, is_complete: bool) -> list[tuple[SourcePage, str]]:
    """Return the pages of a source that have a document and are gone, with why."""
    reasons = {page.address: page.about for page in gone}
    rows = SourcePage.objects.filter(tenant_id=plan.tenant_id, source_id=plan.source_id).exclude(document=None)
    unseen = rows.exclude(seen_at__gte=plan.began_at).select_related("document").order_by("address")
    is_folder = plan.kind == Source.Kind.FOLDER
    return [
        (row, reasons.get(row.address) or _("The file is not there any more."))
        for row in unseen
        if row.address in reasons or (is_folder and is_complete)
    ]


def _miss(row: SourcePage, about: str, *, removes: bool) -> Line:
    if row.missing_since is not None and removes:
        remove(row, actor=None)
        return Line("removed", row.address, about)
    if row.missing_since is None:
        row.missing_since = timezone.now()
        row.save(update_fields=["missing_since"])
    return Line("missing", row.address, about)


def remove(row: SourcePage, *, actor: Actor) -> None:
    """Delete a page's document, and what is known of the page."""
    document = row.document
    row.delete()
    if document is not None:
        delete_document(document=document, actor=actor)

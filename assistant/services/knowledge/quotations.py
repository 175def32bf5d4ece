"""Passages as tools give them to a model: with their numbers and sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from assistant.models.knowledge import Passage
from assistant.services.knowledge.citations import INSTRUCTION
from assistant.services.knowledge.evidence import find
from assistant.services.knowledge.invisible import without_invisible
from assistant.services.knowledge.reach import Reach
from assistant.services.knowledge.trust import untrusted_documents
from assistant.toolkit import Param, ToolContext

Wording = Annotated[str, Param(min_length=1, max_length=500)]
# What the model is told where nothing answers, and where it is not sure that something does.
NOTHING = "No document says anything about this. Search once more in other words, or say that no document tells."
WEAK = "Weak evidence: these may be about something else. If they do not answer, search once more in other words."
# Passages before and after, in about 6,000 characters together.
BEFORE = 2
AFTER = 5


@dataclass(frozen=True, slots=True)
class Quotation:
    """A passage of a document: answers name it by its `number`; `source` is the title, `page` is set for PDFs."""

    number: str
    source: str
    heading: str
    page: int | None
    text: str
    source_id: str


@dataclass(frozen=True, slots=True)
class DocumentSearch:
    """The best passages, the best first with its neighbours beside it; `note` tells the model how to use them."""

    results: list[Quotation]
    note: str


def searched(reach: Reach, context: ToolContext, *, queries: Sequence[str], limit: int) -> DocumentSearch:
    """Return the passages that a search finds as the model gets them, and how far they are to be trusted."""
    found = find(reach=reach, queries=queries, limit=limit)
    result = quoted(with_neighbours([hit.passage for hit in found.hits]), context, NOTHING)
    return replace(result, note=f"{WEAK} {result.note}") if found.evidence == "weak" else result


def with_neighbours(passages: Sequence[Passage]) -> list[Passage]:
    """Return passages with those that follow each other in a document together, in the order of its text.

    Each group stands where its best passage stood, and each passage keeps its number, by which answers name it.
    """
    groups: list[list[Passage]] = []
    for row in passages:
        near = (
            group
            for group in groups
            if any(one.document_id == row.document_id and abs(one.position - row.position) == 1 for one in group)
        )
        group = next(near, None)
        if group is None:
            groups.append([row])
        else:
            group.append(row)
    return [row for group in groups for row in sorted(group, key=lambda one: one.position)]


def quoted(passages: Iterable[Passage], context: ToolContext, nothing: str) -> DocumentSearch:
    """Return passages as the model gets them, without what nobody sees; those of untrusted documents mark the run."""
    rows = list(passages)
    results = [
        Quotation(
            number=f"{row.document_id}.{row.position}",
            source=without_invisible(row.title),
            heading=without_invisible(row.heading),
            page=row.page,
            text=without_invisible(row.text),
            source_id=f"doc-{row.document_id}.{row.position}",
        )
        for row in rows
    ]
    titles = {row.document_id: row.title for row in rows}
    if untrusted := untrusted_documents(tenant_id=context.tenant.pk, document_ids=titles):
        context.mark_untrusted(*(title for pk, title in titles.items() if pk in untrusted))
    note = f"Answer from these passages. {INSTRUCTION % results[0].number}" if results else nothing
    return DocumentSearch(results, note)


def passages_around(*, reach: Reach, document_id: int, position: int) -> list[Passage]:
    """Return a passage of a document with those around it, in their order; empty if none such is within reach.

    Args:
        position: the passage's, counted from 1.
    """
    rows = reach.passages().filter(document_id=document_id).defer("stems")
    found = list(rows.filter(position__range=(position - BEFORE, position + AFTER)).order_by("position"))
    return found if any(row.position == position for row in found) else []

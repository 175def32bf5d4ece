"""The knowledge tool: searches the tenant's documents and returns passages with their sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_lazy as _

from assistant.services.knowledge.citations import INSTRUCTION
from assistant.services.knowledge.full_text import search
from assistant.services.knowledge.trust import untrusted_documents
from assistant.toolkit import Example, Param, ToolContext, tool


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
    """The best passages, the best first; `note` tells the model how to use them."""

    results: list[Quotation]
    note: str


@tool(
    title=_("Search documents"),
    read_only=True,
    examples=[
        Example(
            "how do I bring a zebra to the office?",
            {"query": "bring zebra to office"},
            result='{"results":[{"number":"9.4","text":"Register it at the gate, on Sundays only."}]}',
            answer="Register it at the gate, on Sundays only [9.4].",
        )
    ],
)
def search_docs(
    query: Annotated[str, Param("What to look for, in a few words.", min_length=1, max_length=500)],
    context: ToolContext,
    limit: Annotated[int, Param("How many passages at most.", ge=1, le=10)] = 3,
) -> DocumentSearch:
    """Search the company's documents for policies and instructions: refunds, shipping, warranty, opening hours."""
    hits = search(tenant_id=context.tenant.pk, query=query, limit=limit)
    results = [
        Quotation(
            number=f"{hit.passage.document_id}.{hit.passage.position}",
            source=hit.passage.title,
            heading=hit.passage.heading,
            page=hit.passage.page,
            text=hit.passage.text,
            source_id=f"doc-{hit.passage.document_id}.{hit.passage.position}",
        )
        for hit in hits
    ]
    note = (
        f"Answer from these passages. {INSTRUCTION % results[0].number}"
        if results
        else "No document says anything about this."
    )
    found = {hit.passage.document_id: hit.passage.title for hit in hits}
    if untrusted := untrusted_documents(tenant_id=context.tenant.pk, document_ids=found):
        context.mark_untrusted(*(title for pk, title in found.items() if pk in untrusted))
    return DocumentSearch(results, note)

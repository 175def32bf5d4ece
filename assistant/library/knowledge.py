"""The knowledge tools: search the tenant's documents, and read on in one; both return passages with their sources."""

from __future__ import annotations

from typing import Annotated

from django.utils.translation import gettext_lazy as _

from assistant.services.knowledge.overview import described
from assistant.services.knowledge.quotations import DocumentSearch, Wording, passages_around, quoted, searched
from assistant.services.knowledge.reach import reach_of
from assistant.toolkit import Example, Param, ToolContext, ToolError, tool


async def _describe(context: ToolContext) -> str:
    return f"Search the company's documents. {await described(context)}"


@tool(
    title=_("Search documents"),
    read_only=True,
    describe=_describe,
    examples=[
        # No word of the question is in the wordings: a model that copies questions finds nothing in other words.
        Example(
            "how do I bring a zebra to the office?",
            {
                "queries": [
                    "Large animals may enter company premises if they are registered at the gate.",
                    "pets livestock creatures premises site entry permission registration",
                ],
                # Small models read slowly.
                "limit": 3,
            },
            result='{"results":[{"number":"9.4","text":"Register it at the gate, on Sundays only."}]}',
            answer="Register it at the gate, on Sundays only [9.4].",
        ),
        # Asked in another language than the documents are written in.
        Example(
            "Wie ist das, was kostet die Anmeldung von einem Zebra, und wie lange dauert sie?",
            {
                "queries": [
                    "Registration of large animals is charged per head and done on Sundays.",
                    "pets livestock creatures entry fee price duration registration",
                ],
                "limit": 3,
            },
            result='{"results":[{"number":"9.5","text":"Registration is 9.99 XTS and done on Sundays only."}]}',
            answer="Die Anmeldung kostet 9.99 XTS und geht nur an Sonntagen [9.5].",
        ),
    ],
)
def search_docs(
    queries: Annotated[
        list[Wording],
        Param(
            "Two or three wordings in the documents' languages: a sentence as a handbook would put it, then ten other "
            "words for it. Not the question's words.",
            min_length=1,
            max_length=5,
        ),
    ],
    context: ToolContext,
    limit: Annotated[int, Param("How many passages at most.", ge=1, le=10)] = 5,
) -> DocumentSearch:
    """Search the company's documents for policies and instructions: refunds, shipping, warranty, opening hours."""
    return searched(reach_of(context), context, queries=queries, limit=limit)


@tool(title=_("Read on in a document"), read_only=True)
def read_document(
    id: Annotated[int, Param("Of passage [9.4]: 9.", ge=1, le=2**53)],  # noqa: A002 - the model's word
    context: ToolContext,
    around: Annotated[int, Param("Of passage [9.4]: 4.", ge=1, le=1_000_000)] = 1,
) -> DocumentSearch:
    """Read on before and after a passage of search_docs."""
    rows = passages_around(reach=reach_of(context), document_id=id, position=around)
    if not rows:
        raise ToolError(f"There is no passage [{id}.{around}]. Use the number of one that search_docs has found.")
    return quoted(rows, context, "")

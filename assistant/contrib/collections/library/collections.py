"""The tool that searches a part of the tenant's documents: of a collection, a document, a kind, or some days."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from assistant.contrib.collections.models import CollectedDocument
from assistant.contrib.collections.services.access import Decided, collections_for
from assistant.services.db.threads import in_database_with_retry
from assistant.services.knowledge.overview import fitting, has_none
from assistant.services.knowledge.quotations import DocumentSearch, Wording, searched
from assistant.services.knowledge.reach import reach_of
from assistant.toolkit import Param, ToolContext, ToolError, tool

# Limits of what the model is told: collections, and characters of all of them.
MAX_NAMED = 20
MAX_CHARACTERS = 800


async def _describe(context: ToolContext) -> str:
    named = "" if has_none(context) else await in_database_with_retry(_readable_ones, context)
    return f"Search a part of the company's documents. Collections: {named or 'none'}."


def _readable_ones(context: ToolContext) -> str:
    return _named([one for one in collections_for(context) if one.is_open])


def _named(collections: list[Decided]) -> str:
    found = (f"{one.name} ({one.description})" if one.description else one.name for one in collections[:MAX_NAMED])
    return "; ".join(fitting(found, MAX_CHARACTERS))


@tool(title=_("Search a part of the documents"), read_only=True, describe=_describe)
def search_collections(
    queries: Annotated[
        list[Wording],
        Param("Two or three wordings of what the documents may say, in their languages.", min_length=1, max_length=5),
    ],
    context: ToolContext,
    *,
    collection: Annotated[str, Param("The name of a collection; empty for all.", max_length=100)] = "",
    document: Annotated[int | None, Param("A document: of passage [9.4] it is 9.", ge=1, le=2**53)] = None,
    kind: Annotated[Literal["any", "text", "markdown", "pdf"], Param("The kind of the documents.")] = "any",
    changed_since: Annotated[date | None, Param("The documents that were changed on this day or later.")] = None,
    changed_until: Annotated[date | None, Param("The documents that were not changed after this day.")] = None,
    limit: Annotated[int, Param("How many passages at most.", ge=1, le=10)] = 5,
) -> DocumentSearch:
    """Search a part of the company's documents: a collection, one document, a kind, or what some days changed."""
    wanted = [Q(kind=kind)] if kind != "any" else []
    if collection:
        wanted.append(_in_collection(context, collection))
    if document is not None:
        wanted.append(Q(pk=document))
    zone = ZoneInfo(context.tenant.timezone)
    if changed_since is not None:
        wanted.append(Q(updated_at__gte=_moment(changed_since, time.min, zone)))
    if changed_until is not None:
        wanted.append(Q(updated_at__lte=_moment(changed_until, time.max, zone)))
    return searched(reach_of(context).within(*wanted), context, queries=queries, limit=limit)


def _moment(day: date, at: time, zone: ZoneInfo) -> datetime:
    """Return a moment of a day. Raises `ToolError` for a day at an end of the calendar, which has none in UTC."""
    try:
        return datetime.combine(day, at, zone).astimezone(UTC)
    except OverflowError as exc:
        raise ToolError(f"No document is of {day}. A day is of the form 2026-05-31; leave it out for any.") from exc


def _in_collection(context: ToolContext, name: str) -> Q:
    """Return the condition of a collection's documents. Raises `ToolError` as if closed ones were not there."""
    readable = [one for one in collections_for(context) if one.is_open]
    pk = next((one.pk for one in readable if one.name.casefold() == name.strip().casefold()), None)
    if pk is None:
        raise ToolError(f"There is no collection “{name}”. There are: {_named(readable) or 'none'}.")
    here = CollectedDocument.objects.filter(tenant_id=context.tenant.pk, document=OuterRef("pk"), collection=pk)
    return Q(Exists(here))

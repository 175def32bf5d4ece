"""Which of the passages that an answer has named its reader may still see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assistant.services.knowledge.reach import has_rule, reach_of_member
from assistant.services.tenancy.members import Member

# The name of a passage of a document is `doc-<document>.<position>`.
_PREFIX = "doc-"
_MAX_DIGITS = 18


def document_of(source_id: str) -> int | None:
    """Return the document of a source; None if it is something else."""
    number = source_id.removeprefix(_PREFIX).partition(".")[0]
    is_one = source_id.startswith(_PREFIX) and number.isascii() and number.isdecimal() and len(number) <= _MAX_DIGITS
    return int(number) if is_one else None


def visible_sources(
    *, member: Member, assistant: str, passages: Mapping[int, Iterable[Mapping[str, Any]]]
) -> dict[int, list[Mapping[str, Any]]]:
    """Return the passages that answers have named, without those of documents that the member may not read now.

    Args:
        assistant: the slug of the assistant that has answered.
        passages: those of each answer, as `cited_passages` returns them.
    """
    all_of = {key: list(some) for key, some in passages.items()}
    named = {document_of(str(one.get("source_id"))) for some in all_of.values() for one in some} - {None}
    if not named or not has_rule():
        return all_of
    reach = reach_of_member(member, assistant=assistant)
    if not reach.is_narrowed:
        return all_of
    shown = {None, *reach.readable([one for one in named if one is not None])}
    return {
        key: [one for one in some if document_of(str(one.get("source_id"))) in shown] for key, some in all_of.items()
    }

"""Reads receipts for those who may read the conversation: what a source is, as far as the reader may see it now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from assistant.contrib.receipts.models import Receipt
from assistant.contrib.receipts.services.readers import WITHHELD, for_visitors, titled
from assistant.models import Assistant, Passage, Run
from assistant.models import Message as MessageRow
from assistant.services.knowledge.reach import has_rule, reach_of_member
from assistant.services.knowledge.sources import document_of
from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy.policy import effective_tools
from assistant.services.toolpolicy.titles import titles_of

# Those of which retention has left the counts.
EMPTIED: Mapping[str, Any] = {"marks": [], "actions": [], "is_checked": True}


@dataclass(frozen=True, slots=True)
class _Tools:
    """The tools of a reader with an assistant: titles of those that they may use, and names of those they may not."""

    titles: Mapping[str, str]
    hidden: frozenset[str]


def shown_receipts(*, member: Member, runs: Collection[Run]) -> Mapping[int, Any]:
    """Return the receipts of runs that a member may read, by the runs' ids, as clients get them.

    What a tool returned is shown if the member may use the tool now, and a passage if they may read its document. An
    end user gets what `for_visitors` leaves.
    """
    rows = list(Receipt.objects.filter(tenant_id=member.tenant_id, run__in=[run.pk for run in runs]).exclude(**EMPTIED))
    if not rows:
        return {}
    by_pk = {run.pk: run for run in runs}
    texts = dict(
        MessageRow.objects.filter(
            conversation__tenant_id=member.tenant_id, run__in=[row.run_id for row in rows], role="assistant"
        ).values_list("message_id", "content")
    )
    by_assistant: dict[int, list[Receipt]] = {}
    for row in rows:
        by_assistant.setdefault(by_pk[row.run_id].assistant_id, []).append(row)
    passages = {assistant: _passages(member, assistant, some) for assistant, some in by_assistant.items()}
    tools: dict[int, _Tools] = {}
    found = {}
    for row in rows:
        assistant = by_pk[row.run_id].assistant_id
        if assistant not in tools:
            tools[assistant] = _tools_of(member, assistant)
        shown = _shown(row, texts.get(row.message_id, ""), tools[assistant], passages[assistant])
        found[row.run_id] = for_visitors(shown) if member.is_end_user else shown
    return found


def _shown(row: Receipt, answer: str, tools: _Tools, passages: Mapping[str, Passage]) -> dict[str, Any]:
    marks = []
    named: dict[str, dict[str, Any]] = {}
    for mark in row.marks:
        sources = []
        for source in mark["sources"]:
            shown = titled(_source(source, tools.hidden, passages), tools.titles)
            if shown["kind"] == "passage" and shown["id"] in passages:
                named[shown["id"]] = _passage(passages[shown["id"]])
            if shown not in sources:
                sources.append(shown)
        marks.append({**mark, "text": answer[mark["start"] : mark["end"]], "sources": sources})
    actions = [{**action, "text": answer[action["start"] : action["end"]]} for action in row.actions]
    shown = {"messageId": row.message_id, "marks": marks, "actions": actions, "passages": named}
    return shown if row.is_checked else {**shown, "notChecked": True}


def _source(source: dict[str, Any], hidden: frozenset[str], passages: Mapping[str, Passage]) -> dict[str, Any]:
    if source["kind"] == "tool" and source["tool"] in hidden:
        return WITHHELD
    if source["kind"] == "passage" and source["id"].startswith("doc-") and source["id"] not in passages:
        return WITHHELD
    return source


def _tools_of(member: Member, assistant_id: int) -> _Tools:
    entries = effective_tools(tenant_id=member.tenant_id, user_id=member.user_id, assistant_id=assistant_id)
    usable = {entry.tool.name for entry in entries if entry.policy != "off"}
    titles = titles_of(tenant_id=member.tenant_id, names=usable)
    return _Tools(
        titles={name: titles.get(name) or name.replace("_", " ") for name in usable},
        hidden=frozenset(entry.tool.name for entry in entries) - usable,
    )


def _passages(member: Member, assistant_id: int, rows: Collection[Receipt]) -> dict[str, Passage]:
    """Return the passages that receipts name and that a member may read now, by their ids."""
    ids = {
        source["id"]
        for row in rows
        for mark in row.marks
        for source in mark["sources"]
        if source["kind"] == "passage" and source["id"].startswith("doc-")
    }
    documents = [document for document in map(document_of, ids) if document is not None]
    if not documents:
        return {}
    assistants = Assistant.objects.filter(tenant_id=member.tenant_id, pk=assistant_id)
    slug = (assistants.values_list("slug", flat=True).first() or "") if has_rule() else ""
    known = reach_of_member(member, assistant=slug).passages().filter(document_id__in=documents)
    by_id = {f"doc-{passage.document_id}.{passage.position}": passage for passage in known}
    return {one: by_id[one] for one in ids if one in by_id}


def _passage(passage: Passage) -> dict[str, Any]:
    return {"source": passage.title, "heading": passage.heading, "page": passage.page, "text": passage.text}

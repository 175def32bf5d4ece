"""Makes the receipt of an answer from the messages of its run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from assistant.contrib.receipts.matching.claims import Claim, Done, claims_of, has_verb
from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.matching import MAX_ANSWER, MAX_SOURCES, MAX_VALUES, Mark, marks_of
from assistant.contrib.receipts.matching.prose import masked, unoffered_citations
from assistant.contrib.receipts.matching.sources import Fact, Source
from assistant.contrib.receipts.matching.steps import Steps
from assistant.core.values.citations import Citation
from assistant.core.values.messages import Message

# The kinds of sources in the order in which the first of a value is chosen.
_RANKS = {"tool": 0, "passage": 0, "message": 1, "page": 2, "clock": 3, "instructions": 4}


@dataclass(frozen=True, slots=True)
class MadeReceipt:
    """The receipt of one answer, as JSON values.

    Attributes:
        marks: `start` and `end` of each value in characters, `text`, `occurrence` (which of the places of that text in
            the prose of the answer), `kind`, `sources`, and if there are any `derived` and `reason`.
        actions: `start`, `end`, `text` and `tool` of each claimed action; no `tool` if no call has done it.
        steps: how much was compared.
        is_checked: whether it was found out; without, it says nothing of the answer.
    """

    marks: list[dict[str, Any]]
    actions: list[dict[str, Any]]
    steps: int = 0
    is_checked: bool = True

    @property
    def unsupported(self) -> int:
        """How many values no source has."""
        return sum("reason" in mark for mark in self.marks)

    @property
    def unsupported_actions(self) -> int:
        """How many claimed actions no call has done."""
        return sum("tool" not in action for action in self.actions)


def since_question(messages: Sequence[Message]) -> Sequence[Message]:
    """Return what follows the last message of a user: that of the run that answers it."""
    last = max((place for place, message in enumerate(messages) if message.role == "user"), default=-1)
    return messages[last + 1 :]


def has_looked_up(messages: Sequence[Message]) -> bool:
    """Return whether the run that answers the last message of a user has used a tool or a document."""
    uses_tool = any(message.role == "tool" for message in since_question(messages))
    return uses_tool or any(one.attachments and not all(file.is_image for file in one.attachments) for one in messages)


def make_receipt(
    answer: str,
    *,
    messages: Sequence[Message],
    calls: Sequence[Done],
    now: datetime,
    searches: AbstractSet[str] = frozenset(),
    citations: Sequence[Citation] = (),
    steps: Steps | None = None,
) -> MadeReceipt:
    """Return the receipt of an answer.

    Args:
        messages: the conversation, the system prompt first, without the answer.
        calls: of the tools, in this run and before it in the conversation.
        now: in the tenant's timezone.
        searches: the names of the tools that give passages of documents.
        citations: what the provider itself says that the answer was taken from.
        steps: counts the work; `stop` ends it from another thread.
    """
    facts = facts_of(messages, now, citations)
    answer = answer[:MAX_ANSWER]
    steps = Steps() if steps is None else steps
    prose = masked(answer)
    marks = [_mark(mark, facts, prose) for mark in marks_of(answer, facts, steps)]
    if any(one.text in (one.source_id, one.source) for one in citations):
        # The provider has read more than it shows.
        marks = [mark for mark in marks if mark.get("reason") != "not_found"]
    marks += _unoffered(answer, facts, messages, searches, len(citations))
    marks.sort(key=lambda mark: int(mark["start"]))
    actions = [_action(claim) for claim in claims_of(answer, calls, facts.words)]
    return MadeReceipt(marks, actions, steps.count)


def _unoffered(
    answer: str, facts: Facts, messages: Sequence[Message], searches: AbstractSet[str], cited: int
) -> list[dict[str, Any]]:
    """Return the marks of citations that name a number under which the model was given no passage.

    None if it was given no passages and has looked for none: brackets are something else then. Nor if files were
    attached, whose passages have numbers that only the run knows.

    Args:
        cited: how many sources the provider itself names; their numbers are counted from 1.
    """
    offered = {source.number for source in facts.sources if source.kind == "passage" and source.number}
    offered |= {str(number + 1) for number in range(cited)}
    has_files = any(not file.is_image for message in messages for file in message.attachments)
    has_searched = any(call.name in searches for message in messages for call in message.tool_calls)
    if has_files or not (offered or has_searched):
        return []
    return [
        {
            "start": one.start,
            "end": one.end,
            "text": answer[one.start : one.end],
            "occurrence": one.occurrence,
            "kind": "citation",
            "numbers": one.numbers,
            "sources": [],
            "reason": "not_offered",
        }
        for one in islice(unoffered_citations(answer, offered), MAX_VALUES)
    ]


def receipt_of_claims(answer: str, *, calls: Sequence[Done], tools: Sequence[Done]) -> MadeReceipt:
    """Return the receipt of an answer whose run has looked nothing up: claims of what one of its tools does.

    Args:
        calls: of the tools, before it in the conversation.
        tools: those that change something, as if they had been called.
    """
    answer = answer[:MAX_ANSWER]
    known = [tool for tool in tools if has_verb(tool)]
    possible = {claim.start for claim in claims_of(answer, known) if claim.tool}
    return MadeReceipt([], [_action(claim) for claim in claims_of(answer, calls) if claim.start in possible])


def _action(claim: Claim) -> dict[str, Any]:
    return {"start": claim.start, "end": claim.end, "text": claim.verb, **({"tool": claim.tool} if claim.tool else {})}


def facts_of(messages: Sequence[Message], now: datetime, citations: Sequence[Citation] = ()) -> Facts:
    """Return what the messages of a conversation say, the newest first if there is more than is indexed."""
    facts = Facts(now)
    for one in citations:
        facts.add_text(Source("passage", one.source, id=one.source_id), one.text)
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    for message in reversed(messages):
        if message.is_superseded or facts.is_full:
            continue
        if message.role == "tool":
            facts.add_result(Source("tool", names.get(message.tool_call_id, ""), message.tool_call_id), message.content)
        elif message.role == "user":
            facts.add_text(Source("message", id=message.id), message.content)
            if message.page:
                facts.add_text(Source("page", id=message.id), message.page)
        elif message.role == "system":
            facts.add_text(Source("instructions"), message.content)
        for call in message.tool_calls:
            facts.add_result(Source("tool", call.name, call.id, id="arguments"), call.arguments)
    return facts


def _mark(mark: Mark, facts: Facts, prose: str) -> dict[str, Any]:
    value = mark.value
    sources = [_source(fact, facts) for fact in _in_order(mark.facts, facts)]
    return {
        "start": value.start,
        "end": value.end,
        "text": value.text,
        "occurrence": _occurrence(prose, value.text, value.start),
        "kind": value.kind,
        "sources": list({str(source): source for source in sources}.values())[:MAX_SOURCES],
        **({"derived": mark.derived} if mark.derived else {}),
        **({"reason": mark.reason} if mark.reason else {}),
    }


def _in_order(found: Collection[Fact], facts: Facts) -> list[Fact]:
    """Return facts with the first source first: of the kind that counts most, and the oldest of it.

    Sources are numbered from the newest on.
    """
    return sorted(
        found,
        key=lambda fact: (
            _RANKS.get(facts.sources[fact.source].kind, 9),
            facts.sources[fact.source].id == "arguments",
            -fact.source,
        ),
    )


def _source(fact: Fact, facts: Facts) -> dict[str, Any]:
    source = facts.sources[fact.source]
    if source.kind == "tool":
        link = facts.link_of(fact)
        path = f"arguments.{fact.path}" if source.id == "arguments" else fact.path
        return {"kind": "tool", "tool": source.name, "callId": source.call_id, "path": path, **_link(link)}
    if source.kind == "passage":
        return {
            "kind": "passage",
            "id": source.id,
            "number": source.number,
            "title": source.name,
            "start": fact.start,
            "end": fact.end,
            **_link(source.id if urlsplit(source.id).scheme in ("http", "https") else ""),
        }
    if source.kind == "message":
        return {"kind": "message", "id": source.id}
    return {"kind": source.kind}


def _link(link: str) -> Mapping[str, str]:
    return {"url": link} if link else {}


def _occurrence(prose: str, text: str, start: int) -> int:
    """Return how often a text stands in a prose as a whole word before a place."""
    count = 0
    place = prose.find(text)
    while 0 <= place < start:
        before = prose[place - 1 : place]
        after = prose[place + len(text) : place + len(text) + 1]
        count += not (before.isalnum() and text[0].isalnum()) and not (after.isalnum() and text[-1].isalnum())
        place = prose.find(text, place + 1)
    return count

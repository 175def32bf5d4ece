"""Finds what went wrong in runs: eight signatures, by rules over stored rows. No model is asked, and no run waits."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Substr

from assistant.contrib.improvements.models import MAX_DETAIL, Signature
from assistant.models import Feedback, Message, Run, ToolCall
from assistant.toolkit.calls.arguments import INVALID

# Of the runs that are looked at together: their calls, and characters of arguments that are compared.
MAX_CALLS = 20_000
MAX_ARGUMENTS = 2_000
# A run that makes the same call so often is a loop.
LOOP_CALLS = 3
# The tools that search documents, and what a result has if nothing was found.
SEARCHES = ("search_docs", "search_collections")
NOTHING_FOUND = '"results":[]'
_FAILED_CALLS = (ToolCall.Status.ERROR, ToolCall.Status.TIMEOUT, ToolCall.Status.UNKNOWN, ToolCall.Status.INTERRUPTED)
# What a call is told whose arguments do not fit its schema, or are no JSON object.
_MISREAD = (INVALID, "The arguments ")
# Why an answer was cut that the provider's filter stopped: it is refused, and not cut.
_FILTERED = "content_filter"
LIMIT = "limit"
# A disliked answer that its comment calls wrong.
WRONG = "wrong"
# How an answer begins that declines, in the languages of the product; characters that are looked at.
_BEGINNING = 200
_DECLINES = re.compile(
    r"\s*(?:"
    r"(?:i[’']?m|i am)?\s*sorry[,.]?\s*(?:but\s+)?i\s+(?:can[’']?t|cannot|can not|won[’']?t|am not able|am unable)"
    r"|i\s+(?:can[’']?t|cannot|can not|won[’']?t)\s+(?:help|assist|do|answer|discuss|provide|share|give)\b"
    r"|i(?:[’']m| am)\s+(?:unable|not able|not allowed|not permitted)\s+to"
    r"|(?:es tut mir leid|tut mir leid|leider)\b[^.]{0,60}\b(?:kann|darf) ich\b[^.]{0,80}\bnicht\b"
    r"|(?:je suis )?d[eé]sol[eé]e?\b[^.]{0,60}\bje ne (?:peux|puis)\b"
    r"|lo siento\b[^.]{0,60}\bno puedo\b"
    r")",
    re.IGNORECASE,
)
# What comments of disliked answers are about, by their words; the first that fits counts.
_COMMENTS: Sequence[tuple[str, re.Pattern[str]]] = tuple(
    (subject, re.compile(words, re.IGNORECASE))
    for subject, words in (
        (WRONG, r"\bwrong\b|incorrect|\buntrue\b|not true|outdated|made up|\bfalsch\b|stimmt nicht|veraltet|\bfaux\b"),
        ("long", r"too long|too much text|verbose|wordy|long-winded|\bzu lang|ausschweifend|trop long|demasiado larg"),
        ("short", r"too short|more detail|\bzu kurz|trop court|demasiado cort"),
        ("tone", r"\brude|unfriendly|impolite|\btone\b|patroni|condescend|unh[oö]flich|\bfrech|\bton(?:fall)?\b"),
        ("form", r"\bformat|\btables?\b|\blists?\b|bullet|markdown|\btabelle"),
        ("language", r"\blanguage\b|in (?:english|german|french|spanish)|\bsprache\b|auf (?:deutsch|englisch)"),
    )
)


@dataclass(frozen=True, slots=True)
class Found:
    """What went wrong in a run.

    Attributes:
        subject: the tool, or the kind of it; "" for groups by their questions.
        detail: in the words of the tool, the rule or the person.
    """

    run_id: int
    assistant_id: int
    signature: Signature
    subject: str
    detail: str
    at: datetime


@dataclass(slots=True)
class _Calls:
    """The calls of a run, summed up."""

    same: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: dict[str, str] = field(default_factory=dict)
    misread: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    milliseconds: Counter[str] = field(default_factory=Counter)
    done: int = 0
    searches: int = 0
    empty_searches: int = 0

    def loops(self) -> dict[str, int]:
        """Return the tools that were called again and again with the same arguments, and how often."""
        return {name: count for (name, _given), count in self.same.items() if count >= LOOP_CALLS}


def find(runs: Sequence[Run], *, tenant_id: int, slow_ms: Mapping[int, int]) -> list[Found]:
    """Return what went wrong in runs of a tenant; at most once per run, signature and subject.

    Args:
        slow_ms: from how many milliseconds on an answer is slow, of each of their assistants.
    """
    ids = [run.pk for run in runs]
    calls = _calls(ids, tenant_id)
    cuts = _cuts(ids, tenant_id)
    found: list[Found] = []
    for run in runs:
        own = calls.get(run.pk, _Calls())
        found += [
            Found(run.pk, run.assistant_id, signature, subject[:128], _line(detail), run.started_at)
            for signature, subject, detail in _of_run(run, own, cuts.get(run.pk, ""), slow_ms)
        ]
    known = {one.run_id for one in found}
    declined = _declined([pk for pk in ids if pk not in known and not (pk in calls and calls[pk].done)], tenant_id)
    found += [
        Found(run.pk, run.assistant_id, Signature.REFUSAL, "", _line(declined[run.pk]), run.started_at)
        for run in runs
        if run.pk in declined
    ]
    return found


def find_disliked(ratings: Sequence[Feedback]) -> list[Found]:
    """Return what is disliked of answers whose runs have nothing else; the ratings come with `message.run`."""
    found = []
    for rating in ratings:
        run = rating.message.run
        if run is None:
            continue
        comment = " ".join(rating.comment.split())
        subject = next((name for name, words in _COMMENTS if words.search(comment[:2_000])), "")
        signature = Signature.KNOWLEDGE if subject == WRONG else Signature.STYLE
        found.append(Found(run.pk, run.assistant_id, signature, subject, _line(comment), run.started_at))
    return found


def _of_run(run: Run, calls: _Calls, cut: str, slow_ms: Mapping[int, int]) -> Iterator[tuple[Signature, str, str]]:
    """Yield the signatures of a run; what explains another one is named alone."""
    loops = calls.loops()
    for name, count in loops.items():
        yield Signature.LOOP, name, f"{count} ×"
    for name, said in calls.misread.items():
        if name not in loops:
            yield Signature.MISREAD, name, said
    for name, said in calls.errors.items():
        if name not in loops and name not in calls.misread:
            yield Signature.TOOL_ERROR, name, said
    for name, rule in calls.refused.items():
        if name not in loops:
            yield Signature.REFUSAL, name, rule
    if calls.searches and calls.searches == calls.empty_searches:
        yield Signature.KNOWLEDGE, "", ""
    if cut == _FILTERED:
        yield Signature.REFUSAL, "", cut
    elif cut:
        yield Signature.CUT, cut, ""
    elif run.status == Run.Status.FAILED and run.error_code == "limit_reached" and not loops:
        yield Signature.CUT, LIMIT, run.error_message
    whole = _milliseconds(run)
    if run.status == Run.Status.FINISHED and whole > slow_ms[run.assistant_id]:
        name, longest = next(iter(calls.milliseconds.most_common(1)), ("", 0))
        yield Signature.LATENCY, name if 2 * longest >= whole else "", f"{whole / 1_000:.1f} s"


def _calls(ids: Sequence[int], tenant_id: int) -> dict[int, _Calls]:
    rows: Any = ToolCall.objects.filter(tenant_id=tenant_id, run__in=ids).order_by("run_id", "pk")
    is_empty = ExpressionWrapper(Q(result__contains=NOTHING_FOUND), output_field=BooleanField())
    rows = rows.annotate(
        said=Substr("error", 1, MAX_DETAIL),
        answered=Substr("result", 1, MAX_DETAIL),
        given=Substr("arguments", 1, MAX_ARGUMENTS),
        is_empty=is_empty,
    )
    names = ("run_id", "name", "status", "rule", "duration_ms", "said", "answered", "given", "is_empty")
    found: dict[int, _Calls] = defaultdict(_Calls)
    for run_id, name, status, rule, duration, said, answered, given, empty in rows.values_list(*names)[:MAX_CALLS]:
        own = found[run_id]
        own.same[(name, given)] += 1
        own.milliseconds[name] += duration or 0
        told = said or answered
        if status == ToolCall.Status.ERROR and told.startswith(_MISREAD):
            own.misread.setdefault(name, told)
        elif status in _FAILED_CALLS:
            own.errors.setdefault(name, told)
        elif status == ToolCall.Status.REFUSED:
            own.refused.setdefault(name, rule or told)
        elif status == ToolCall.Status.OK:
            own.done += 1
        if name in SEARCHES:
            own.searches += 1
            own.empty_searches += int(status == ToolCall.Status.OK and empty)
    return found


def _cuts(ids: Sequence[int], tenant_id: int) -> dict[int, str]:
    """Return why answers were cut, by the run."""
    cut = Message.objects.filter(run__in=ids, conversation__tenant=tenant_id, is_partial=True).exclude(cut_reason="")
    return {run_id: reason for run_id, reason in cut.values_list("run_id", "cut_reason") if run_id is not None}


def _declined(ids: Sequence[int], tenant_id: int) -> dict[int, str]:
    """Return how the answers of runs begin that decline."""
    answers = Message.objects.filter(run__in=ids, conversation__tenant=tenant_id, role=Message.Role.ASSISTANT)
    rows = answers.order_by("position").annotate(beginning=Substr("content", 1, _BEGINNING))
    return {
        run_id: beginning
        for run_id, beginning in rows.values_list("run_id", "beginning")
        if run_id is not None and _DECLINES.match(beginning)
    }


def _milliseconds(run: Run) -> int:
    return round((run.ended_at - run.started_at).total_seconds() * 1_000) if run.ended_at is not None else 0


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_DETAIL else f"{line[: MAX_DETAIL - 1]}…"

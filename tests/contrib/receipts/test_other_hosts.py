"""How many values of answers over other hosts' runs are judged rightly: the last figures of docs/receipts.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.matching import Mark, marks_of
from assistant.contrib.receipts.matching.sources import Source
from tests.contrib.receipts.answers.other_hosts import ANSWERS, RUNS
from tests.contrib.receipts.answers.scenes import NOW, TIMEZONE

PLACE = re.compile(r"\[\[(.+?)\|\|(.+?)\]\]")


def facts_of(name: str) -> Facts:
    return facts_of_run(*RUNS[name])


def facts_of_run(question: str, calls: Sequence[tuple[str, dict[str, Any], dict[str, Any]]]) -> Facts:
    facts = Facts(NOW.astimezone(ZoneInfo(TIMEZONE)))
    for number, (tool, arguments, result) in enumerate(calls):
        facts.add_result(Source("tool", tool, f"call-{number}"), json.dumps(result))
        facts.add_result(Source("tool", tool, f"call-{number}", "arguments"), json.dumps(arguments))
    facts.add_text(Source("message", id="question"), question)
    return facts


def planted(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield an answer with one change, and where that is, for each place of a change."""
    for chosen in PLACE.finditer(text):
        before = PLACE.sub(r"\1", text[: chosen.start()])
        yield (
            before + chosen[2] + PLACE.sub(r"\1", text[chosen.end() :]),
            len(before),
            len(before) + len(chosen[2]),
        )


def is_marked(marks: list[Mark], start: int, end: int) -> bool:
    return any(not mark.is_supported and mark.value.start < end and start < mark.value.end for mark in marks)


def test_few_values_of_true_answers_are_marked() -> None:
    marks = [mark for name, text in ANSWERS for mark in marks_of(PLACE.sub(r"\1", text), facts_of(name))]
    wrong = [mark.value.text for mark in marks if not mark.is_supported]
    assert len(marks) > 300 and len(wrong) <= 0.03 * len(marks), wrong


def test_nearly_all_planted_changes_are_marked() -> None:
    changes = [(name, *change) for name, text in ANSWERS for change in planted(text)]
    missed = [
        text[start:end]
        for name, text, start, end in changes
        if not is_marked(marks_of(text, facts_of(name)), start, end)
    ]
    assert len(changes) > 180 and len(missed) <= 0.06 * len(changes), missed

"""Looks whether days of the week agree with the dates of a run and of its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.said_fields import SaidFields
from assistant.contrib.receipts.matching.steps import Steps
from assistant.contrib.receipts.matching.values import Value

if TYPE_CHECKING:
    from assistant.contrib.receipts.matching.matching import Mark


def checked(marks: Sequence[Mark], prose: str, facts: Facts, steps: Steps, said: SaidFields) -> list[Mark]:
    """Let a day of the week agree with the date beside it, or else with a date of the run.

    Args:
        steps: counts the work.
        said: which fields dates are said of.
    """
    found: list[Mark] = []
    contradicted: list[Mark] = []
    for place, mark in enumerate(marks):
        if mark.value.kind != "weekday":
            found.append(mark)
            continue
        beside = next((one for one in marks[max(0, place - 1) : place + 2] if _is_beside(mark, one)), None)
        if beside is not None:
            days = {fact.day: fact for fact in beside.facts if fact.day is not None and fact.day.year > 4}
            agreeing = tuple(
                fact for day, fact in days.items() if day is not None and day.weekday() == mark.value.weekday
            )
            if agreeing:
                found.append(replace(mark, facts=agreeing, derived="weekday", reason=""))
                continue
            if days and (not mark.facts or _is_of_date(mark, beside, prose)):
                # Which of the two is wrong cannot be known.
                contradicted.append(beside)
                found.append(mark)
                continue
        if mark.is_supported:
            found.append(mark)
            continue
        of_run = (
            fact
            for day, several in steps.each(facts.days.items())
            if day.weekday() == mark.value.weekday and _is_as_near_as_said(day, mark.value, prose, facts.now.date())
            for fact in several
            if said.fits(mark.value, fact)
        )
        agreeing = tuple(islice(of_run, MAX_SOURCES))
        if agreeing:
            found.append(replace(mark, facts=agreeing, derived="weekday", reason=""))
        elif facts.days:
            found.append(mark)
    return [replace(mark, facts=(), reason="not_found") if mark in contradicted else mark for mark in found]


# Sources of one day of the week.
MAX_SOURCES = 8
# "Last Friday" is also that of the week before.
_TWO_WEEKS = timedelta(days=14)


def _is_as_near_as_said(day: date, value: Value, prose: str, today: date) -> bool:
    """Whether a day may be meant by "last Friday", "next Friday" or only "Friday"."""
    start = max(0, value.start - 20)
    if words.LAST.search(prose, start, value.start):
        return timedelta(0) < today - day <= _TWO_WEEKS
    if words.NEXT.search(prose, start, value.start):
        return timedelta(0) < day - today <= _TWO_WEEKS
    return True


_TO_DATE = re.compile(r",?[ \u00a0](?:(?:the|den|dem|der)[ \u00a0])?")


def _is_of_date(mark: Mark, other: Mark, prose: str) -> bool:
    """Whether a day of the week is part of a date: "Wednesday, 18 March"."""
    return bool(_TO_DATE.fullmatch(prose, mark.value.end, other.value.start))


def _is_beside(mark: Mark, other: Mark) -> bool:
    if other.value.kind != "date" or other is mark:
        return False
    gap = max(other.value.start - mark.value.end, mark.value.start - other.value.end)
    return gap <= 12

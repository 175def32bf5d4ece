"""Rows of exposed models by what they are called, for those who name one in a message."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from itertools import chain, zip_longest

from django.db.models import IntegerField, Q

from assistant.contrib.data.services.plans import Plan, plans
from assistant.contrib.data.services.reading import reading
from assistant.contrib.data.services.references import NamedRow, named_rows
from assistant.contrib.data.services.rows import loaded, order_of
from assistant.contrib.data.services.selecting import MAX_WORDS, own_relations
from assistant.contrib.data.services.visible_rows import permitted, visible_rows
from assistant.toolkit import ToolContext, ToolError

MAX_OFFERED = 8
# Rows of one model that are asked for; of those with permissions of their own, how many the project is asked about.
MAX_OF_MODEL = 5
MAX_ASKED = 30
# After this time no further model is searched.
SECONDS = 2.0


def rows_by_name(text: str, context: ToolContext, *, tools: Collection[str]) -> list[NamedRow]:
    """Return rows that contain all words of a text, models in turn. One query for each model that can be searched.

    Args:
        tools: the names of those that the member may use now; models whose `get` is not among them are passed over.
    """
    words = text.replace("\0", "").split()[:MAX_WORDS]
    until = time.monotonic() + SECONDS
    found: list[list[NamedRow]] = []
    for plan in offered_plans(tools) if words else ():
        if time.monotonic() > until:
            break
        try:
            found.append(_found(plan, words, context))
        except ToolError:
            # Too slow, or a rule of the project that cannot be asked.
            continue
    in_turn = chain.from_iterable(zip_longest(*found))
    return [row for row in in_turn if row is not None][:MAX_OFFERED]


def offered_plans(tools: Collection[str]) -> Iterable[Plan]:
    """Yield what is offered of the models whose rows can be read with some tools."""
    return (plan for plan in plans() if not plan.problem and plan.tools[1] in tools)


def _found(plan: Plan, words: list[str], context: ToolContext) -> list[NamedRow]:
    condition = Q()
    for word in words:
        by_word = _contains(plan, word, context)
        if not by_word:
            return []
        condition &= by_word
    with reading("Ask for less."):
        rows = loaded(visible_rows(plan, context).filter(condition), plan, context)
        rows = rows.order_by(*order_of(plan, None, context))
        most = MAX_ASKED if plan.uses_object_permissions else MAX_OF_MODEL
        return named_rows(plan, permitted(plan, context, list(rows[:most]))[:MAX_OF_MODEL], context)


def _contains(plan: Plan, word: str, context: ToolContext) -> Q:
    """Return the condition that a text of a row contains a word, or a whole number of it begins with its digits."""
    condition = Q()
    for column in plan.search:
        condition |= Q(**{f"{column.name}__icontains": word}) & own_relations(column, context)
    if word.isascii() and word.isdigit():
        for column in plan.columns:
            if column.is_own and isinstance(column.field, IntegerField):
                condition |= Q(**{f"{column.name}__startswith": word})
    return condition

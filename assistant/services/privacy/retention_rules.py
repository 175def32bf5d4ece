"""What optional apps add to retention: rows to delete or to empty when a tenant's period for their kind is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet

from assistant.models import Tenant
from assistant.models.retention import KINDS


class Due(NamedTuple):
    """Rows that are too old: what the counts call them, the rows, and the function that removes or empties some."""

    name: str
    rows: QuerySet[Any]
    remove: Callable[[QuerySet[Any]], object]


Rule = Callable[[Tenant, datetime], Iterable[Due]]
_rules: list[tuple[str, Rule]] = []
_at_most: list[Rule] = []


def keep_for(kind: str, rule: Rule) -> None:
    """Apply a retention period to more rows.

    Args:
        kind: a kind of `assistant.models.retention.KINDS`, whose period it is.
        rule: takes the tenant and the moment before which rows are too old, and returns those rows. An emptied row must
            not be among them again.
    """
    _rules.append((kind, rule))


def keep_at_most(rule: Rule) -> None:
    """Delete rows at an age of their own, whatever the tenant's periods are; the rule's moment is now."""
    _at_most.append(rule)


def kinds() -> tuple[str, ...]:
    """Return the kinds of which there are rows: periods of absent apps are left out."""
    absent = {"deliveries"} - {kind for kind, _ in _rules}
    return tuple(kind for kind in KINDS if kind not in absent)


def due_of(kind: str, tenant: Tenant, until: datetime) -> Iterator[Due]:
    """Yield what the rules of a kind return."""
    for own, rule in _rules:
        if own == kind:
            yield from rule(tenant, until)


def due_whatever_the_period(tenant: Tenant, now: datetime) -> Iterator[Due]:
    """Yield what the rules of `keep_at_most` return."""
    for rule in _at_most:
        yield from rule(tenant, now)


def delete_rows(rows: QuerySet[Any]) -> None:
    """Delete rows: the usual way to remove them."""
    rows.delete()

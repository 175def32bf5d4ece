"""Signed references to rows: what pages and programs send in place of a key, so that nothing of theirs is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core import signing

from assistant.contrib.data.services.plans import Plan, plans
from assistant.contrib.data.services.rows import RowTexts, loaded, set_related
from assistant.contrib.data.services.selecting import NotAKey, key_of
from assistant.contrib.data.services.visible_rows import permitted, visible_rows
from assistant.toolkit import ToolContext

# A page may stay open for a working day.
LIFETIME_SECONDS = 12 * 60 * 60
MAX_LENGTH = 600  # characters of a reference
_SALT = "assistant.contrib.data.row"


class InvalidReference(Exception):
    """A text is no reference that was signed here, or its time is over; the message says which."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A row as one member of one tenant may name it.

    Attributes:
        tenant, user: primary keys as text.
        model: as `shop.order`.
        pk: the row's primary key as text.
    """

    tenant: str
    user: str
    model: str
    pk: str

    @property
    def plan(self) -> Plan | None:
        """What is offered of its model; None if nothing is."""
        found = (plan for plan in plans() if plan.label.lower() == self.model and not plan.problem)
        return next(found, None)


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A row that a member may see: its signed reference, its label, and what kind of row it is, in words."""

    reference: str
    label: str
    kind: str


def signed(reference: Reference) -> str:
    """Return a reference as a text that holds for `LIFETIME_SECONDS`."""
    values = [reference.tenant, reference.user, reference.model, reference.pk]
    return signing.dumps(values, salt=_SALT, compress=True)


def read(text: str) -> Reference:
    """Return the reference that a text is. Raises `InvalidReference`."""
    if len(text) > MAX_LENGTH:
        raise InvalidReference("is no reference of this site")
    try:
        values = signing.loads(text, salt=_SALT, max_age=LIFETIME_SECONDS)
    except signing.SignatureExpired as exc:
        raise InvalidReference("has expired: load the page again") from exc
    except signing.BadSignature as exc:
        raise InvalidReference("is no reference of this site") from exc
    return Reference(*values)


def is_for(reference: Reference, context: ToolContext) -> bool:
    """Return whether a reference was made for the member of a context, in that tenant."""
    return (reference.tenant, reference.user) == (str(context.tenant.pk), str(context.user.pk))


def named_rows(plan: Plan, rows: Sequence[Any], context: ToolContext) -> list[NamedRow]:
    """Return rows that `loaded` has read with references for the member of a context."""
    texts = RowTexts(plan)
    kind = str(plan.model._meta.verbose_name)
    for row in rows:
        set_related(plan, row)
    return [NamedRow(_reference_of(plan, row, context), texts.label(row), kind) for row in rows]


def _reference_of(plan: Plan, row: Any, context: ToolContext) -> str:
    model = plan.label.lower()
    return signed(Reference(str(context.tenant.pk), str(context.user.pk), model, str(row.pk)))


def named_row(plan: Plan, pk: Any, context: ToolContext) -> NamedRow | None:
    """Return a row by its primary key; None if there is none that the member may see."""
    try:
        key = key_of(plan.model._meta.pk, pk)
    except NotAKey:
        return None
    chosen = loaded(visible_rows(plan, context).filter(pk=key), plan, context)[:1]
    found = named_rows(plan, permitted(plan, context, list(chosen)), context)
    return next(iter(found), None)

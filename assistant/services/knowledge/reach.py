"""Which of a tenant's documents somebody may find: all, or those that an optional app's rule leaves.

Everything that reads documents for a person or a model begins with a `Reach`: search by words and by meaning, counts,
descriptions, reading on, lists and sources of answers.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, cast

from django.core.exceptions import EmptyResultSet
from django.db.models import Q, QuerySet
from django.utils.module_loading import import_string

from assistant.models.knowledge import Document, Passage
from assistant.services.tenancy.members import Member
from assistant.toolkit import ToolContext

# The language of documents whose language could not be told.
DEFAULT_LANGUAGE = "en"
# The name of the narrowed documents in SQL, and of none.
_TABLE = "reach"
_NOTHING = "SELECT 0 WHERE 1 = 0"


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What a rule leaves of a tenant's documents.

    Attributes:
        conditions: of documents; all of them hold.
        name: the same for all who may read the same documents, under which lines of evidence are kept.
        version: changes whenever it may leave other documents.
    """

    conditions: tuple[Q, ...]
    name: str
    version: str


class Rule(Protocol):
    """Decides what somebody may read, in a thread without an event loop, each time that it is asked."""

    def __call__(self, context: ToolContext) -> Narrowing | None:
        """Return what is left for the tenant, user and assistant of a context; None for all of the tenant's."""
        ...


_rules: list[str] = []


def narrow_with(rule: str) -> None:
    """Have a rule decide, beside any others, which documents somebody may find: those that all of them leave.

    Args:
        rule: the dotted name of a `Rule`, which is imported with the first search.
    """
    if rule not in _rules:
        _rules.append(rule)


def has_rule() -> bool:
    """Return whether a rule decides what somebody may find."""
    return bool(_rules)


def _narrowed(context: ToolContext) -> Narrowing | None:
    """Return what all rules leave; None if nothing is kept from anybody."""
    asked = (cast(Rule, import_string(rule))(context) for rule in _rules)
    found = [narrowing for narrowing in asked if narrowing is not None]
    if len(found) <= 1:
        return found[0] if found else None
    conditions = tuple(condition for one in found for condition in one.conditions)
    return Narrowing(conditions, " & ".join(one.name for one in found), " & ".join(one.version for one in found))


class Reach:
    """The documents of a tenant that one search, list or reader may have; what was counted of them is kept.

    Args:
        narrowing: what the rule leaves; None for all.
        wanted: what the asker wants of these: further conditions.
    """

    def __init__(self, tenant_id: int, narrowing: Narrowing | None = None, wanted: tuple[Q, ...] = ()) -> None:
        self.tenant_id = tenant_id
        self._narrowing = narrowing
        self._wanted = wanted

    def within(self, *wanted: Q) -> Reach:
        """Return those of the documents that the asker wants."""
        return Reach(self.tenant_id, self._narrowing, (*self._wanted, *wanted)) if wanted else self

    @cached_property
    def permitted(self) -> Reach:
        """All that may be found, whatever of it is wanted."""
        return Reach(self.tenant_id, self._narrowing) if self._wanted else self

    @property
    def is_narrowed(self) -> bool:
        """Whether it may be less than all documents of the tenant."""
        return self._narrowing is not None or bool(self._wanted)

    @property
    def name(self) -> str:
        return self._narrowing.name if self._narrowing else ""

    @property
    def version(self) -> str:
        return self._narrowing.version if self._narrowing else ""

    def documents(self) -> QuerySet[Document]:
        """Return the documents."""
        conditions = self._narrowing.conditions if self._narrowing else ()
        return Document.objects.filter(*conditions, *self._wanted, tenant_id=self.tenant_id)

    def passages(self) -> QuerySet[Passage]:
        """Return the documents' passages."""
        rows = Passage.objects.filter(tenant_id=self.tenant_id)
        return rows.filter(document__in=self.documents().order_by().values("pk")) if self.is_narrowed else rows

    def readable(self, document_ids: Collection[int]) -> frozenset[int]:
        """Return those of some documents that are among them."""
        return frozenset(self.documents().order_by().filter(pk__in=document_ids).values_list("pk", flat=True))

    @cached_property
    def total(self) -> int:
        """How many passages there are."""
        return self.passages().count()

    @cached_property
    def languages(self) -> frozenset[str]:
        """The languages in which the documents are searched."""
        rows = self.documents().order_by().values_list("language", flat=True).distinct()
        return frozenset(language or DEFAULT_LANGUAGE for language in rows)

    @cached_property
    def table(self) -> tuple[str, list[Any]]:
        """What stands before a statement that uses `condition`, with its parameters."""
        if not self.is_narrowed:
            return "", []
        try:
            sql, parameters = self.documents().order_by().values("pk").query.sql_with_params()
        except EmptyResultSet:
            return f"WITH {_TABLE}(pk) AS ({_NOTHING}) ", []
        return f"WITH {_TABLE}(pk) AS ({sql}) ", list(parameters)

    @property
    def condition(self) -> str:
        """SQL for rows with a `document_id`, which begins with AND; "" if all are meant."""
        return f" AND document_id IN (SELECT pk FROM {_TABLE})" if self.is_narrowed else ""  # noqa: S608 - our own name  # nosec B608


def reach_of(context: ToolContext) -> Reach:
    """Return what the tenant, user and assistant of a context may find now."""
    return Reach(context.tenant.pk, _narrowed(context))


def reach_of_member(member: Member, *, assistant: str = "") -> Reach:
    """Return what a member may find now.

    Args:
        assistant: the slug of the assistant that they ask; "" outside of conversations.
    """
    context = ToolContext(tenant=member.tenant, user=member.user, assistant=assistant, extra=member.extra)
    return reach_of(context)


def whole_reach(tenant_id: int) -> Reach:
    """Return all documents of a tenant, for what is done for the tenant and shown to its operators alone."""
    return Reach(tenant_id)

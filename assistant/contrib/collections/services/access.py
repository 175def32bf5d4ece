"""Who may read a collection: one function decides, each time that a question is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Collection as Some
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from assistant.contrib.collections.models import CollectedDocument, Collection
from assistant.models import Membership
from assistant.services.db.fast_paths.prepared_queries import PreparedQuery, UserKey
from assistant.services.knowledge.reach import Narrowing
from assistant.services.knowledge.visible_rows import visible_keys
from assistant.services.tenancy.members import superuser_subquery
from assistant.services.toolpolicy.policy import held_permissions
from assistant.toolkit import ToolContext
from assistant.toolkit.context import UserId

# Documents that come from rows and are looked at in one question; those beyond are not found.
MAX_ROWS = 10_000
_ASSISTANTS = Collection.assistants.through


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks.

    Attributes:
        role: in the tenant now; None of nobody who is an active member.
        permissions: those of the ones that collections ask for.
    """

    role: str | None
    permissions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a collection asks for.

    Attributes:
        is_for_assistant: whether it is for the assistant that is asked.
    """

    roles: tuple[str, ...]
    permission: str
    is_for_assistant: bool


def may_read(conditions: Conditions, asker: Asker) -> bool:
    """Return whether somebody may read a collection: all of its conditions hold. One without any is for everybody."""
    has_role = not conditions.roles or asker.role in conditions.roles
    has_permission = not conditions.permission or conditions.permission in asker.permissions
    return has_role and has_permission and conditions.is_for_assistant


@dataclass(frozen=True, slots=True)
class Decided:
    """A collection of a tenant, and whether somebody may read it now.

    Attributes:
        version: when it, or what is in it, was changed.
    """

    pk: int
    name: str
    description: str
    version: float
    has_rows: bool
    is_open: bool


def collections_for(context: ToolContext) -> list[Decided]:
    """Return all collections of a tenant, by name, and which of them the context's user may read.

    One query; one more where a permission is asked for.
    """
    user_id: UserId = context.user.id
    asked = {"tenant_id": context.tenant.pk, "user_id": user_id, "assistant": context.assistant}
    # A prepared query has no place for None, which a call without a user has.
    rows: list[Any] = list(_rows(**asked)) if user_id is None else _ROWS.rows(**asked)
    if not rows:
        return []
    needed = {row.permission for row in rows if row.permission}
    held = needed if rows[0].is_superuser else held_permissions(user_id, needed) if rows[0].role else set()
    asker = Asker(rows[0].role, frozenset(held))
    return [
        Decided(
            row.pk,
            row.name,
            row.description,
            row.updated_at.timestamp(),
            row.has_rows,
            may_read(Conditions(tuple(row.roles), row.permission, _is_for_assistant(row)), asker),
        )
        for row in rows
    ]


def _rows(*, tenant_id: int, user_id: UserId, assistant: str) -> QuerySet[Collection]:
    memberships = Membership.objects.filter(
        tenant_id=tenant_id, user_id=user_id, user__is_active=True, tenant__is_active=True
    )
    named = _ASSISTANTS.objects.filter(collection_id=OuterRef("pk"))
    entries = CollectedDocument.objects.filter(tenant_id=tenant_id, collection=OuterRef("pk"))
    return (
        Collection.objects.filter(tenant_id=tenant_id)
        .annotate(
            role=Subquery(memberships.values("role")[:1]),
            is_superuser=superuser_subquery(tenant_id=tenant_id, user_id=user_id),
            names_assistants=Exists(named),
            names_this=Exists(named.filter(assistant__tenant_id=tenant_id, assistant__slug=assistant)),
            has_rows=Exists(entries.exclude(row_model="")),
        )
        .order_by("name")
    )


# Asked before each request to a model, once by each tool that searches documents.
_ROWS = PreparedQuery(_rows, tenant_id=int, user_id=UserKey, assistant=str)


def _is_for_assistant(row: Any) -> bool:
    return row.names_this or not (row.for_chosen_assistants or row.names_assistants)


def narrowing_of(context: ToolContext) -> Narrowing | None:
    """Return what the collections of a tenant leave somebody; None if nothing is kept from them.

    As many queries as `collections_for`, and some where documents come from rows.
    """
    tenant_id = context.tenant.pk
    decided = collections_for(context)
    hidden = sorted(one.pk for one in decided if not one.is_open)
    name = ",".join(map(str, hidden))
    # A collection that was changed may have other documents, or they may come from other rows.
    version = ",".join(f"{one.pk}@{one.version}" for one in decided if one.has_rows or not one.is_open)
    conditions: list[Q] = []
    here = CollectedDocument.objects.filter(tenant_id=tenant_id, document=OuterRef("pk"))
    if hidden:
        conditions.append(~Q(Exists(here.filter(collection__in=hidden))))
    if any(one.has_rows for one in decided if one.is_open):
        seen = _with_visible_rows(context, tenant_id, hidden)
        conditions.append(~Q(Exists(here.exclude(row_model="").exclude(document__in=seen))))
        digest = hashlib.sha256(",".join(map(str, sorted(seen))).encode()).hexdigest()
        name += f" rows {digest}"
        version += f" rows {digest}"
    return Narrowing(tuple(conditions), name, version) if conditions else None


def _with_visible_rows(context: ToolContext, tenant_id: int, hidden: Some[int]) -> list[int]:
    """Return the documents whose rows somebody may see now."""
    entries = CollectedDocument.objects.filter(tenant_id=tenant_id).exclude(row_model="")
    found = entries.exclude(collection__in=hidden).order_by("pk").values_list("document_id", "row_model", "row_key")
    by_model: dict[str, dict[int, str]] = {}
    for document_id, model, key in found[:MAX_ROWS]:
        by_model.setdefault(model, {})[document_id] = key
    return [document for model, keys in by_model.items() for document in _seen(context, model, keys)]


def _seen(context: ToolContext, model: str, keys: Mapping[int, str]) -> Iterable[int]:
    visible = visible_keys(context, model, frozenset(keys.values()))
    return [document for document, key in keys.items() if key in visible]

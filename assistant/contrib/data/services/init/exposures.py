"""Which models and columns a project may want to expose: a proposal, with what is left out and why."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.db import DEFAULT_DB_ALIAS, models, router

from assistant.contrib.data.services.columns import Column, column_of, looks_secret
from assistant.toolkit.guards.tenant_paths import MAX_HOPS, TenantModels, relations

# Three tools each: more than this and a conversation has to search for its tools.
MAX_MODELS = 8
_TECHNICAL = re.compile(
    r"log|session|token|credential|secret|apikey|webhook|migration|history|histor|snapshot|outbox|cache|lock|invitation|invite|job|queue"
    r"|importrun|sync|audit|preference|setting|config",
    re.IGNORECASE,
)
_LABELS = ("name", "title", "number", "label", "reference", "code", "slug", "subject", "email", "username")


@dataclass(frozen=True, slots=True)
class Proposed:
    """One model to expose: its columns, those that look personal, and those that are left out with the reason."""

    model: Any
    path: str
    fields: tuple[str, ...]
    personal: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def label(self) -> str:
        return str(self.model._meta.label)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What to expose, and models that are not proposed, with the reason."""

    exposed: tuple[Proposed, ...]
    others: tuple[tuple[str, str], ...]


def propose(found: list[Any], *, known: TenantModels, without: Collection[Any]) -> Proposal:
    """Return what a project may want to expose.

    Args:
        found: the project's models.
        known: its tenant models, and how others lead to them.
        without: models that are not exposed: tenants and memberships.
    """
    proposed: list[Proposed] = []
    others: list[tuple[str, str]] = []
    for model in found:
        if model in without or model._meta.auto_created:
            continue
        if reason := _reason_against(model, known):
            others.append((model._meta.label, reason))
            continue
        one = _proposed(model, known)
        if one.fields:
            proposed.append(one)
        else:
            others.append((model._meta.label, "it has no column to show"))
    proposed.sort(key=lambda one: _weight(one.model, found), reverse=True)
    others += [(one.label, f"{MAX_MODELS} others are referred to more") for one in proposed[MAX_MODELS:]]
    return Proposal(tuple(proposed[:MAX_MODELS]), tuple(others))


def _reason_against(model: Any, known: TenantModels) -> str:
    ways = known.ways(model)
    if not ways:
        return "its rows lead to no tenant: declare its path (tenant_paths), or that all tenants read it (tenantless)"
    if any(way.generic is not None for way in ways):
        return "its rows lead to their tenant by a generic foreign key: declare its path (tenant_paths)"
    if router.db_for_read(model) != DEFAULT_DB_ALIAS:
        return "it is in another database than the assistant"
    if _TECHNICAL.search(model.__name__):
        return "its name looks technical"
    if looks_secret(column_of(model, "pk", depth=1)):
        return "its primary key looks secret"
    return ""


def _weight(model: Any, found: list[Any]) -> tuple[int, int]:
    """Return how much other models are about a model, and how much there is to say of it."""
    pointing = sum(any(key.related_model is model for key in relations(other._meta)) for other in found)
    return (pointing, len(model._meta.concrete_fields))


def _proposed(model: Any, known: TenantModels) -> Proposed:
    fields: list[str] = []
    personal: list[str] = []
    left_out: list[str] = []
    for column, reason in columns_to_offer(model, known):
        if reason:
            left_out.append(f"{column.name}: {reason}")
            continue
        fields.append(column.name)
        if column.is_personal:
            personal.append(column.name)
    path = ", ".join(way.lookup.removesuffix("__pk") for way in known.ways(model))
    return Proposed(model, path, tuple(fields), tuple(personal), tuple(left_out))


def columns_to_offer(model: Any, known: TenantModels) -> Iterator[tuple[Column, str]]:
    """Yield the columns of a model, and names of rows that it refers to, each with the reason against it, or ""."""
    own = {key.name for key in known.own_columns(model)}
    for field in model._meta.concrete_fields:
        if field.primary_key or field.name in own:
            continue
        for name in _names(field, known):
            column = column_of(model, name, depth=MAX_HOPS)
            yield column, _left_out(column)


def _names(field: Any, known: TenantModels) -> Iterator[str]:
    """Yield a column's name; of a foreign key also the name of what says what the other row is."""
    related = getattr(field, "related_model", None)
    if related is None:
        yield field.name
        return
    if related is get_user_model():
        yield f"{field.name}__{related.USERNAME_FIELD}"
        return
    if not known.ways(related):
        return
    yield field.name
    label = next((name for name in _LABELS if _is_plain(related, name)), "")
    if label:
        yield f"{field.name}__{label}"


def _is_plain(model: Any, name: str) -> bool:
    return any(field.name == name and not field.is_relation for field in model._meta.concrete_fields)


def _left_out(column: Column) -> str:
    if looks_secret(column):
        return "it looks secret"
    if isinstance(column.field, models.FileField):
        return "it is a file"
    return "it has no plain value" if column.kind == "value" else ""

"""Which of a project's models are its tenants, and by which rows users belong to them: candidates with reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models
from django.utils.functional import cached_property

_STRONG = re.compile(r"^(tenant|organi[sz]ation|workspace|company|account|team|client)$", re.IGNORECASE)
_WEAK = re.compile(
    r"tenant|organi[sz]ation|workspace|company|account|team|client|customer|school|clinic|practice|agency|business|firm"
    r"|club|studio|property|landlord|merchant|vendor|institution|hospital|shop|store|site|group",
    re.IGNORECASE,
)
_MEMBER = re.compile(r"member|seat|staff|employ|user|role|profile|participa", re.IGNORECASE)
_ROLE = re.compile(r"role|level|position|kind|type", re.IGNORECASE)
_ADMIN_FLAG = re.compile(r"^(is_(\w+_)?)?(admin|manager|owner|administrator)$")
MAX_COUNTED = 6


@dataclass(frozen=True, slots=True)
class Members:
    """How users belong to a tenant.

    Attributes:
        model: whose rows are memberships: a model, the table of a many-to-many field, or the user model itself.
        kind: "rows" of a model, "many" for a many-to-many field of the tenant or the user, "user" for a foreign key
            of the user model.
        user_field, tenant_field: the fields of `model` that lead to both; of "many" only one is set, the other model's
            field being the relation.
    """

    model: Any
    kind: Literal["rows", "many", "user"]
    user_field: str
    tenant_field: str
    reasons: tuple[str, ...]
    score: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that may be the project's tenants, with its rank and the reasons for it."""

    model: Any
    score: int
    reasons: tuple[str, ...]
    members: Members | None

    @property
    def label(self) -> str:
        return str(self.model._meta.label)


def candidates(found: Iterable[Any]) -> list[Candidate]:
    """Return the models that may be tenants, the likeliest first.

    Args:
        found: the project's models.
    """
    ranked = sorted(_ranked(list(found)), key=lambda one: (-one.score, one.label))
    return [one for one in ranked if one.score > 0]


def candidate_of(model: Any, found: Iterable[Any]) -> Candidate:
    """Return a model as a candidate, however unlikely."""
    return next(one for one in _ranked([*found, model]) if one.model is model)


def _ranked(found: list[Any]) -> Iterator[Candidate]:
    named = str(getattr(settings, "TENANT_MODEL", ""))
    for model in dict.fromkeys(found):
        score = 0
        reasons: list[str] = []
        name = model.__name__
        if named and model._meta.label == named:
            score += 20
            reasons.append("TENANT_MODEL names it")
        if _STRONG.match(name):
            score += 5
            reasons.append(f"it is called {name}")
        elif _WEAK.search(name):
            score += 2
            reasons.append(f"its name is like a tenant's: {name}")
        members = next(iter(members_of(model)), None)
        if members is not None:
            score += members.score
            reasons += members.reasons
        pointing = [other for other in found if other is not model and _keys_to(other, model)]
        if pointing:
            score += min(len(pointing), MAX_COUNTED)
            reasons.append(f"{len(pointing)} {'model refers' if len(pointing) == 1 else 'models refer'} to it")
        above = [
            field
            for field in _keys(model)
            if field.related_model in found and _STRONG.match(field.related_model.__name__)
        ]
        if above:
            score -= 6
            reasons.append(f"but it belongs to {above[0].related_model.__name__} itself")
        if members is None and not _STRONG.match(name) and not named:
            score -= 4
        # A row of one user, such as a profile, is no tenant.
        if any(
            isinstance(field, models.OneToOneField) and field.related_model is get_user_model()
            for field in _keys(model)
        ):
            score -= 10
        yield Candidate(model, score, tuple(reasons), members)


def members_of(tenant: Any) -> list[Members]:
    """Return how users may belong to a tenant model, the likeliest first."""
    return sorted(_found_members(tenant), key=lambda one: (-one.score, one.model._meta.label))


def _found_members(tenant: Any) -> Iterator[Members]:
    user = get_user_model()
    for relation in tenant._meta.related_objects:
        other = relation.related_model
        if relation.many_to_many:
            continue
        if other is user:
            reason = f"each user has one: {user._meta.label}.{relation.field.name}"
            yield Members(user, "user", "", relation.field.name, (reason,), 5)
            continue
        people = [field for field in _keys(other) if field.related_model is user]
        if not people or other._meta.auto_created:
            continue
        is_pair = any({relation.field.name, people[0].name} <= set(names) for names in _unique_pairs(other))
        looks = bool(_MEMBER.search(other.__name__))
        is_single = isinstance(people[0], models.OneToOneField)
        if not (is_pair or looks or is_single) or len(people) > 2:
            continue
        reason = f"{other._meta.label} joins it to users"
        score = 3 + 2 * is_pair + 2 * looks + is_single + bool(role_field(other) or admin_flag(other))
        yield Members(other, "rows", people[0].name, relation.field.name, (reason,), score)
    for model, target in ((tenant, user), (user, tenant)):
        for field in model._meta.many_to_many:
            through = field.remote_field.through
            if field.related_model is target and through is not None and through._meta.auto_created:
                reason = f"{model._meta.label}.{field.name} joins it to users"
                is_of_tenant = model is tenant
                user_field = field.name if is_of_tenant else ""
                tenant_field = "" if is_of_tenant else field.name
                yield Members(through, "many", user_field, tenant_field, (reason,), 6)


def role_field(model: Any) -> Any | None:
    """Return the field of a membership that names a role, if it has choices."""
    named = [field for field in model._meta.concrete_fields if field.choices and _ROLE.search(field.name)]
    return next(iter(sorted(named, key=lambda field: "role" not in field.name)), None)


def admin_flag(model: Any) -> str:
    """Return the name of the boolean or property of a membership that says that somebody manages the tenant, or ""."""
    fields = [field.name for field in model._meta.concrete_fields if isinstance(field, models.BooleanField)]
    properties = [
        name
        for base in model.__mro__
        for name, value in vars(base).items()
        if isinstance(value, property | cached_property) and name.startswith("is_")
    ]
    return next((name for name in (*fields, *properties) if _ADMIN_FLAG.match(name)), "")


def owner_field(tenant: Any) -> str:
    """Return the name of the tenant's foreign key to the user who owns it, or ""."""
    people = (field.name for field in _keys(tenant) if field.related_model is get_user_model())
    return next((name for name in people if name in ("owner", "admin", "administrator", "manager")), "")


def _unique_pairs(model: Any) -> Iterator[tuple[str, ...]]:
    yield from model._meta.unique_together
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint):
            yield tuple(constraint.fields)


def _keys(model: Any) -> list[Any]:
    return [
        field for field in model._meta.concrete_fields if field.is_relation and hasattr(field.related_model, "_meta")
    ]


def _keys_to(model: Any, target: Any) -> bool:
    return any(field.related_model is target for field in _keys(model))

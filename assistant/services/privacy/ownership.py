"""Finds the rows that belong to a tenant or a user, by the models' foreign keys, so that new models are included.

A row belongs to the rows that its foreign keys with CASCADE, RESTRICT or PROTECT refer to. A row that refers to another
with SET_NULL does not belong to it, and stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from graphlib import TopologicalSorter
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import models
from django.db.models import Q, QuerySet

from assistant import optional_apps
from assistant.models import Membership, Tenant
from assistant.services.tenancy.end_users import is_end_user
from assistant.services.tenancy.host import get_host

Model = type[models.Model]
Key = models.ForeignKey[Any, Any]
_OWNING = (models.CASCADE, models.RESTRICT, models.PROTECT)


def _keys() -> Iterator[tuple[Model, Key]]:
    for model in apps.get_models(include_auto_created=True):
        if model._meta.proxy or not model._meta.managed:
            continue
        for field in model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey) and field.remote_field.on_delete in _OWNING:
                yield model, field


@lru_cache
def owned_models(root: Model) -> dict[Model, tuple[str, ...]]:
    """Return the models whose rows belong to rows of `root`, in an order in which they can be deleted.

    The values are the look-ups from the model to the root; for a model with a foreign key `tenant`, only that.
    """
    to: dict[Model, list[tuple[Model, Key]]] = defaultdict(list)
    for model, key in _keys():
        to[key.related_model._meta.concrete_model].append((model, key))  # type: ignore[index]
    # Model -> models whose rows must be deleted before its own.
    needs: dict[Model, set[Model]] = {root: set()}
    waiting = [root]
    while waiting:
        target = waiting.pop()
        for model, _ in to[target]:
            if model not in needs:
                needs[model] = set()
                waiting.append(model)
            if model is not target:
                needs[target].add(model)
    order = list(TopologicalSorter(needs).static_order())
    found: dict[Model, tuple[str, ...]] = {root: ("",)}
    for target in reversed(order):
        for model, key in to[target]:
            if model is not target:
                lookups = (f"{key.name}__{rest}".removesuffix("__") for rest in found[target])
                found[model] = _shortest((*found.get(model, ()), *lookups))
    return {model: found[model] for model in order if model is not root}


def _shortest(lookups: tuple[str, ...]) -> tuple[str, ...]:
    return ("tenant",) if "tenant" in lookups else lookups


def owned_rows(model: Model, root: Model, pks: list[Any]) -> QuerySet[Any]:
    """Return the rows of a model that belong to any of these rows of `root`, without duplicates."""
    wanted = Q(pk__in=[])
    for lookup in owned_models(root)[model]:
        wanted |= Q(**{f"{lookup}__in": pks})
    rows = model._base_manager.filter(wanted)
    return model._base_manager.filter(pk__in=rows.values("pk"))


def deletable_models(root: Model) -> dict[Model, tuple[str, ...]]:
    """Return the owned models whose rows may be deleted and exported with a row of `root`.

    Rows of a host project's models that belong to one of its users are the project's to delete.
    """
    found = owned_models(root)
    if get_host() is None or root is Tenant:
        return found
    ours = optional_apps.labels()
    return {model: lookups for model, lookups in found.items() if model._meta.app_label in ours}


def is_hosts_own(user: Any) -> bool:
    """Return whether a user is an account of a host project, and no end user made here."""
    return get_host() is not None and not is_end_user(user_id=user.pk)


def exclusive_users(tenant: Tenant) -> QuerySet[Any]:
    """Return the users to delete with a tenant: those who belong to it alone, except superusers and a host's own."""
    found = _exclusive_users(tenant)
    if get_host() is None:
        return found
    visitors = Membership.objects.filter(tenant=tenant, role=Membership.Role.END_USER)
    return found.filter(pk__in=visitors.values("user"))


def _exclusive_users(tenant: Tenant) -> QuerySet[Any]:
    users = get_user_model()._base_manager.filter(assistant_memberships__tenant=tenant, is_superuser=False)
    others = get_user_model()._base_manager.filter(assistant_memberships__in=_other_memberships(tenant))
    return users.exclude(pk__in=others.values("pk")).distinct()


def _other_memberships(tenant: Tenant) -> QuerySet[Any]:
    memberships = apps.get_model("assistant", "Membership")
    return memberships._base_manager.exclude(tenant=tenant)

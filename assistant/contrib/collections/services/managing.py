"""Makes, changes and deletes collections for a tenant's admins. Each change is audited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import RestrictedError

from assistant.contrib.collections.models import Collection
from assistant.contrib.collections.services.placing import PlacingError
from assistant.models import Assistant, Tenant
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.audit_trail import Actor

# Collections of a tenant that the REST API and bundles make.
MAX_COLLECTIONS = 500


@transaction.atomic
def make_collection(
    *, tenant: Tenant, actor: Actor, values: Mapping[str, Any], assistants: Sequence[str] = ()
) -> Collection:
    """Make a collection with values of its columns and the slugs of the assistants that it is for.

    Raises:
        PlacingError: a value is not valid, its name is taken, there is no such assistant, or there are too many.
    """
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    if Collection.objects.filter(tenant=tenant).count() >= MAX_COLLECTIONS:
        raise PlacingError(f"There are {MAX_COLLECTIONS} collections already.")
    row = Collection(tenant=tenant)
    _put(row, values, assistants)
    audit_trail.record(
        actor=actor, action="collection.add", target=row.name, tenant=tenant, details=_kept(values, assistants)
    )
    return row


@transaction.atomic
def change_collection(
    *, collection: Collection, actor: Actor, values: Mapping[str, Any], assistants: Sequence[str] | None = None
) -> Collection:
    """Change columns of a collection, and which assistants it is for; None leaves these as they are.

    A collection without assistants is for all of them if `for_chosen_assistants` is false, else for none.

    Raises:
        PlacingError: a value is not valid, its name is taken, or there is no such assistant.
    """
    before = {name: getattr(collection, name) for name in values}
    _put(collection, values, assistants)
    changes = {name: [before[name], value] for name, value in values.items() if before[name] != value}
    if changes or assistants is not None:
        audit_trail.record(
            actor=actor,
            action="collection.change",
            target=collection.name,
            tenant=collection.tenant,
            details=_kept(changes, assistants),
        )
    return collection


@transaction.atomic
def delete_collection(*, collection: Collection, actor: Actor) -> None:
    """Delete a collection without documents.

    Raises:
        PlacingError: it has documents, which everybody could read.
    """
    audit_trail.record(actor=actor, action="collection.delete", target=collection.name, tenant=collection.tenant)
    try:
        collection.delete()
    except RestrictedError as exc:
        raise PlacingError("The collection has documents: everybody could read them.") from exc


def _put(row: Collection, values: Mapping[str, Any], assistants: Sequence[str] | None) -> None:
    for name, value in values.items():
        setattr(row, name, " ".join(value.split()) if name == "name" else value)
    chosen = None if assistants is None else _assistants(row.tenant_id, assistants)
    if chosen:
        row.for_chosen_assistants = True
    try:
        row.full_clean()
    except ValidationError as exc:
        raise PlacingError(" ".join(f"{name}: {' '.join(said)}" for name, said in exc.message_dict.items())) from exc
    row.save()
    if chosen is not None:
        row.assistants.set(chosen)


def _assistants(tenant_id: int, slugs: Sequence[str]) -> list[Assistant]:
    found = {one.slug: one for one in Assistant.objects.filter(tenant_id=tenant_id, slug__in=slugs)}
    if missing := [slug for slug in slugs if slug not in found]:
        raise PlacingError(f"There is no assistant “{missing[0]}”.")
    return list(found.values())


def _kept(values: Mapping[str, Any], assistants: Sequence[str] | None) -> dict[str, Any]:
    chosen = {} if assistants is None else {"assistants": list(assistants)}
    return {**values, **chosen}

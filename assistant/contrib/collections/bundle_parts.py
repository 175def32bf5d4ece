"""What this app adds to bundles: collections and who may read them. Documents are in no bundle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field, StringConstraints

from assistant.contrib.bundles.services.difference import Entry, FieldChange, kind_of
from assistant.contrib.bundles.services.format import MAX_ASSISTANTS, Part, Slug
from assistant.contrib.bundles.services.parts import AddedPart
from assistant.contrib.bundles.services.target import Target, put, refused
from assistant.contrib.collections.models import Collection
from assistant.contrib.collections.services.managing import MAX_COLLECTIONS
from assistant.models import Assistant, Tenant

_COLUMNS = ("description", "roles", "permission", "for_chosen_assistants")


class CollectionPart(Part):
    """A collection with all of its conditions."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    description: Annotated[str, StringConstraints(max_length=300)] = ""
    roles: Annotated[list[Literal["member", "admin", "owner", "end_user"]], Field(max_length=4)] = []
    permission: Annotated[str, StringConstraints(max_length=201)] = ""
    for_chosen_assistants: bool = False
    assistants: Annotated[list[Slug], Field(max_length=MAX_ASSISTANTS)] = []


def exported_collections(tenant: Tenant, assistant: Assistant | None) -> Iterable[CollectionPart]:
    """Return a tenant's collections, by name; of one assistant none."""
    if assistant is not None:
        return []
    rows = Collection.objects.filter(tenant=tenant).prefetch_related("assistants").order_by("name")
    return [
        CollectionPart(
            name=row.name,
            assistants=sorted(one.slug for one in row.assistants.all()),
            **{name: getattr(row, name) for name in _COLUMNS},
        )
        for row in rows
    ]


def import_collections(target: Target, parts: Sequence[CollectionPart], is_whole: bool) -> Iterator[Entry]:
    """Create and change collections, by name. `is_whole`: the bundle is a tenant's, so that others are only here."""
    rows = Collection.objects.filter(tenant=target.tenant).prefetch_related("assistants").order_by("name")
    stored = {row.name: row for row in rows}
    here = {one.slug: one for one in Assistant.objects.filter(tenant=target.tenant)}
    for part in parts:
        yield from _import(target, part, stored.get(part.name), here)
    if is_whole:
        named = {part.name for part in parts}
        yield from (Entry("kept", "collection", name) for name in stored if name not in named)


def _import(
    target: Target, part: CollectionPart, stored: Collection | None, here: dict[str, Assistant]
) -> Iterator[Entry]:
    row = stored or Collection(tenant=target.tenant, name=part.name)
    values = {name: getattr(part, name) for name in _COLUMNS}
    # An assistant that is missing here leaves the collection closed, not open to all.
    values["for_chosen_assistants"] = part.for_chosen_assistants or bool(part.assistants)
    before = sorted(one.slug for one in row.assistants.all()) if stored else []
    after = sorted(slug for slug in part.assistants if slug in here)
    try:
        changes = put(row, values)
    except ValidationError as exc:
        yield refused("collection", part.name, exc)
        return
    if changes or stored is None:
        row.save()
    if before != after:
        row.assistants.set([here[slug] for slug in after])
        changes = (*changes, FieldChange("assistants", before or None, after))
    yield Entry("create" if stored is None else kind_of(changes, is_new=False), "collection", part.name, changes)
    if missing := sorted(set(part.assistants) - set(here)):
        reason = _("There is no assistant “%(name)s” here: choose others, or nobody reads its documents through it.")
        yield Entry("by_hand", "collection", part.name, reason=reason % {"name": missing[0]})


PARTS = (
    AddedPart(
        key="collections",
        section="collection",
        title=gettext_lazy("Collection"),
        model=Collection,
        entry=CollectionPart,
        most=MAX_COLLECTIONS,
        name_of=lambda part: str(part.name),
        assistant_of=lambda part: None,
        export=exported_collections,
        take=import_collections,
        texts=frozenset({"description"}),
    ),
)

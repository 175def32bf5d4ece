"""What this app adds to bundles: which assistants one may ask, and its task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field

from assistant.contrib.bundles.services.difference import Entry, FieldChange, kind_of
from assistant.contrib.bundles.services.format import MAX_ASSISTANTS, Part, Slug
from assistant.contrib.bundles.services.parts import AddedPart
from assistant.contrib.bundles.services.target import Target, put, refused
from assistant.contrib.sub_agents.models import Delegation
from assistant.models import Assistant, Tenant
from assistant.services.assistants.configuration import read_schema


class DelegationPart(Part):
    """The slugs of the assistants that one may ask, and the schema of the task that it is sent itself."""

    assistant: Slug
    delegates: Annotated[list[Slug], Field(max_length=MAX_ASSISTANTS)]
    task_schema: dict[str, Any] | None = None


def exported_delegations(tenant: Tenant, assistant: Assistant | None) -> Iterable[DelegationPart]:
    """Return what the assistants of a tenant, or one of them, may ask."""
    rows = Delegation.objects.filter(tenant=tenant).select_related("assistant").prefetch_related("delegates")
    if assistant is not None:
        rows = rows.filter(assistant=assistant)
    return [
        DelegationPart(
            assistant=row.assistant.slug,
            delegates=sorted(one.slug for one in row.delegates.all() if one.tenant_id == row.tenant_id),
            task_schema=row.task_schema,
        )
        for row in rows.order_by("assistant__slug")
    ]


def import_delegations(target: Target, parts: Sequence[DelegationPart], is_whole: bool) -> Iterator[Entry]:
    """Let assistants ask others, new ones too. `is_whole`: the bundle is a tenant's, so that others are only here."""
    rows = Delegation.objects.filter(tenant=target.tenant).select_related("assistant").prefetch_related("delegates")
    stored = {row.assistant.slug: row for row in rows}
    here = {one.slug: one for one in Assistant.objects.filter(tenant=target.tenant)}
    for part in parts:
        if part.assistant in here:
            yield from _import(target, part, stored.get(part.assistant), here)
    if is_whole:
        named = {part.assistant for part in parts}
        yield from (Entry("kept", "delegates", slug) for slug in sorted(stored) if slug not in named)


def _import(
    target: Target, part: DelegationPart, stored: Delegation | None, here: dict[str, Assistant]
) -> Iterator[Entry]:
    row = stored or Delegation(tenant=target.tenant, assistant=here[part.assistant])
    try:
        schema = read_schema(part.task_schema) if part.task_schema else None
        changes: tuple[FieldChange, ...] = put(row, {"task_schema": schema})
    except ValidationError as exc:
        yield refused("delegates", part.assistant, exc)
        return
    except ValueError as exc:
        yield refused("delegates", part.assistant, f"task_schema: {exc}")
        return
    before = sorted(one.slug for one in row.delegates.all()) if stored else []
    # None may ask itself.
    asked = sorted(set(part.delegates) - {part.assistant})
    after = [slug for slug in asked if slug in here]
    if changes or (stored is None and after):
        row.save()
    if before != after:
        row.delegates.set([here[slug] for slug in after])
        changes = (*changes, FieldChange("delegates", before, after))
    yield Entry(kind_of(changes, is_new=stored is None), "delegates", part.assistant, changes)
    if missing := [slug for slug in asked if slug not in here]:
        reason = _("There are no such assistants that it may ask: %(names)s.") % {"names": ", ".join(missing)}
        yield refused("delegates", part.assistant, reason)


PARTS = (
    AddedPart(
        key="delegations",
        section="delegates",
        title=gettext_lazy("Delegates"),
        model=Delegation,
        entry=DelegationPart,
        most=MAX_ASSISTANTS,
        name_of=lambda part: str(part.assistant),
        assistant_of=lambda part: str(part.assistant),
        export=exported_delegations,
        take=import_delegations,
    ),
)

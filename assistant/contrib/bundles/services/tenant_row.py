"""The list in bundles of an app that keeps one row of settings for each tenant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.functional import Promise

from assistant.contrib.bundles.services.difference import Entry, kind_of
from assistant.contrib.bundles.services.format import Part
from assistant.contrib.bundles.services.parts import AddedPart
from assistant.contrib.bundles.services.target import Target, put, refused
from assistant.models import Assistant, Tenant


def tenant_row(key: str, *, model: type[Any], entry: type[Part], title: str | Promise) -> AddedPart:
    """Return what an app adds to bundles: the columns of a tenant's row that `entry` names; of one assistant nothing.

    A bundle that does not name them changes nothing.

    Args:
        model: has one row of a tenant, in its column `tenant`.
    """

    def export(tenant: Tenant, assistant: Assistant | None) -> Iterable[Part]:
        rows = model.objects.filter(tenant=tenant) if assistant is None else model.objects.none()
        return [entry(**{name: getattr(row, name) for name in entry.model_fields}) for row in rows]

    def take(target: Target, parts: Sequence[Part], is_whole: bool) -> Iterator[Entry]:
        for part in parts:
            stored = model.objects.select_for_update().filter(tenant=target.tenant).first()
            row = stored or model(tenant=target.tenant)
            try:
                changes = put(row, {name: getattr(part, name) for name in part.model_fields_set})
            except ValidationError as exc:
                yield refused(key, "", exc)
                return
            if changes:
                row.save()
            yield Entry(kind_of(changes, is_new=stored is None), key, changes=changes)

    return AddedPart(
        key=key,
        section=key,
        title=title,
        model=model,
        entry=entry,
        most=1,
        name_of=lambda part: key,
        assistant_of=lambda part: None,
        export=export,
        take=take,
    )

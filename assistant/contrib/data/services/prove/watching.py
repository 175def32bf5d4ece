"""The rows of the project before and after a call: what has changed, whose it is, and putting it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection, models

from assistant.contrib.data.services.prove.seeding import seeded_models
from assistant.toolkit.guards.tenant_paths import tenant_models

Rows = dict[Any, dict[Any, tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row that a call has made, changed or deleted: its columns before and after."""

    model: Any
    key: Any
    before: tuple[Any, ...] | None
    after: tuple[Any, ...] | None

    @property
    def how(self) -> str:
        if self.before is None:
            return "made"
        return "deleted" if self.after is None else "changed"


class Watch:
    """Reads all rows of the project's models, and compares."""

    def __init__(self) -> None:
        through = [
            field.remote_field.through
            for model in seeded_models()
            for field in model._meta.many_to_many
            if field.remote_field.through._meta.auto_created
        ]
        self._models = [*seeded_models(), *dict.fromkeys(through)]

    def rows(self) -> Rows:
        """Return all rows by model and key."""
        return {model: {values[0]: values for values in self._read(model)} for model in self._models}

    def _read(self, model: Any) -> Iterator[tuple[Any, ...]]:
        names = [field.attname for field in model._meta.concrete_fields]
        yield from model._base_manager.order_by("pk").values_list("pk", *names)

    def owners(self) -> dict[tuple[Any, str], set[str]]:
        """Return the keys of the tenants of each row, by model and key as text."""
        found: dict[tuple[Any, str], set[str]] = {}
        for model in self._models:
            ways = tenant_models().ways(model)
            lookups = [way.lookup for way in ways if way.generic is None]
            if not lookups:
                continue
            for key, *tenants in model._base_manager.values_list("pk", *lookups):
                owners = found.setdefault((model, str(key)), set())
                owners |= {str(tenant) for tenant in tenants if tenant is not None}
        return found

    def changes(self, before: Rows, after: Rows) -> list[RowChange]:
        """Return the rows that differ."""
        return [
            RowChange(model, key, before[model].get(key), after[model].get(key))
            for model in self._models
            for key in {**before[model], **after[model]}
            if before[model].get(key) != after[model].get(key)
        ]

    def delete(self, keys: dict[Any, list[Any]]) -> None:
        """Delete rows, by model and key, without asking what refers to them."""
        with connection.constraint_checks_disabled():
            for model in reversed(self._models):
                if found := keys.get(model):
                    model._base_manager.filter(pk__in=found)._raw_delete(connection.alias)

    def restore(self, changes: list[RowChange]) -> None:
        """Put changed rows back as they were."""
        with connection.constraint_checks_disabled():
            for change in changes:
                found = change.model._base_manager.filter(pk=change.key)
                if change.before is None:
                    found._raw_delete(connection.alias)
                    continue
                names = [field.attname for field in change.model._meta.concrete_fields]
                values = dict(zip(names, change.before[1:], strict=True))
                if change.after is None:
                    models.Model.save_base(change.model(**values), raw=True, force_insert=True)
                else:
                    own = {field.attname for field in change.model._meta.local_concrete_fields}
                    found.update(**{name: value for name, value in values.items() if name in own})


def links(change: RowChange) -> Iterator[tuple[Any, Any]]:
    """Yield the model and key of each row that a made or changed row newly refers to."""
    if change.after is None:
        return
    for place, field in enumerate(change.model._meta.concrete_fields, 1):
        value = change.after[place]
        is_new = change.before is None or change.before[place] != value
        if field.is_relation and value is not None and is_new and hasattr(field.related_model, "_meta"):
            yield field.related_model, value

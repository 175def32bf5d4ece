"""The rows of the project before and after a call: what has changed, whose it is, and putting it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.db import connection, models

from assistant.contrib.data.services.prove.seeding import seeded_models
from assistant.toolkit.guards.tenant_paths import generic_keys, tenant_models

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
        for model in self._models:
            for one in generic_keys(model._meta):
                for key, *target in model._base_manager.values_list("pk", one.ct_field, one.fk_field):
                    owners = found.setdefault((model, str(key)), set())
                    owners |= found.get(_place_of(*target), set())
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
                columns = change.model._meta.concrete_fields
                values = {
                    column.attname: value
                    for column, value in zip(columns, change.before[1:], strict=True)
                    if not getattr(column, "generated", False)
                }
                if change.after is None:
                    models.Model.save_base(change.model(**values), raw=True, force_insert=True)
                else:
                    own = {field.attname for field in change.model._meta.local_concrete_fields}
                    found.update(**{name: value for name, value in values.items() if name in own})


def links(change: RowChange) -> Iterator[tuple[Any, str]]:
    """Yield the model and key of each row that a made or changed row newly refers to, also by a generic foreign key."""
    if change.after is None:
        return
    fields = change.model._meta.concrete_fields
    after = {field.name: value for field, value in zip(fields, change.after[1:], strict=True)}
    before = {field.name: value for field, value in zip(fields, (change.before or ())[1:], strict=False)}
    for field in fields:
        value = after[field.name]
        is_new = change.before is None or before[field.name] != value
        if field.is_relation and value is not None and is_new and hasattr(field.related_model, "_meta"):
            yield field.related_model, str(value)
    for one in generic_keys(change.model._meta):
        target = (after[one.ct_field], after[one.fk_field])
        if change.before is None or target != (before[one.ct_field], before[one.fk_field]):
            yield _place_of(*target)


def _place_of(content_type: Any, key: Any) -> tuple[Any, str]:
    """Return the model and key of what a generic foreign key names."""
    model = None if content_type is None else ContentType.objects.get_for_id(content_type).model_class()
    return model, str(key)

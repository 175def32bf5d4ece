"""Serializers of Django REST framework that show and accept related rows of a call's tenant alone."""

from __future__ import annotations

import copy
from typing import Any

from django.db.models import Model, QuerySet
from django.db.models.manager import BaseManager
from rest_framework.relations import ManyRelatedField, RelatedField
from rest_framework.serializers import BaseSerializer, ListSerializer

from assistant.contrib.data.services.read_rows import forget, loaded_rows
from assistant.contrib.data.services.tenant_conditions import is_tenantless, of_tenant, problem_of_path
from assistant.toolkit import ToolContext
from assistant.toolkit.guards.tenant_paths import tenant_models

_MAX_DEPTH = 5


class OwnRelations:
    """The related rows of one call; what has been asked of the database is remembered."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._own: dict[tuple[Any, str], dict[Any, bool]] = {}

    def keep_related(self, serializer: Any, *, is_read: bool) -> None:
        """Let a serializer show and accept the tenant's related rows.

        Args:
            is_read: whether foreign keys of the rows that it shows are emptied already.
        """
        inner = getattr(serializer, "child", serializer)
        if not is_read:
            self._show_copies(inner)
        self._keep_fields(inner, _MAX_DEPTH)

    def empty_foreign(self, model: Any, rows: list[Any]) -> None:
        """Empty the foreign keys of rows that lead to another tenant's. One query for each foreign key."""
        lookups = [way.lookup for way in tenant_models().ways(model)]
        for column in model._meta.concrete_fields:
            related = column.related_model
            is_way = any(lookup.startswith(f"{column.name}__") for lookup in lookups)
            if not column.is_relation or is_way or not _has_tenant(related):
                continue
            keys = {key for row in rows if (key := row.__dict__.get(column.attname)) is not None}
            foreign = self._foreign(related, column.target_field.attname, keys)
            for row in rows if foreign else ():
                if row.__dict__.get(column.attname) in foreign:
                    forget(row._state.fields_cache.get(column.name))
                    setattr(row, column.attname, None)
                    row._state.fields_cache[column.name] = None

    def _foreign(self, model: Any, target: str, keys: set[Any]) -> set[Any]:
        known = self._own.setdefault((model, target), {})
        if new := keys - known.keys():
            # Rows that were read ahead are asked about together.
            new |= {getattr(row, target) for row in loaded_rows(model)}
            rows = model._base_manager.filter(of_tenant(model, self._context), **{f"{target}__in": new})
            own = set(rows.values_list(target, flat=True))
            known.update({key: key in own for key in new})
        return {key for key in keys if not known[key]}

    def _keep_fields(self, serializer: Any, depth: int) -> None:
        for field in getattr(serializer, "fields", {}).values():
            relation = field.child_relation if isinstance(field, ManyRelatedField) else field
            if isinstance(relation, RelatedField):
                self._accept_own(relation)
            if isinstance(field, ManyRelatedField):
                self._show_own(field, "get_attribute")
            elif isinstance(field, ListSerializer):
                self._show_own(field, "to_representation")
            elif isinstance(field, BaseSerializer):
                self._show_copies(field)
            if depth:
                self._keep_fields(getattr(field, "child", field), depth - 1)

    def _accept_own(self, relation: Any) -> None:
        if relation.queryset is None:
            return
        rows = relation.queryset.all()
        has_path = not problem_of_path(rows.model)
        relation.queryset = rows.filter(of_tenant(rows.model, self._context)) if has_path else rows.none()

    def _show_own(self, field: Any, method: str) -> None:
        """Let a field that shows many related rows leave out those of other tenants."""
        inherited = getattr(field, method)
        if method == "get_attribute":
            field.get_attribute = lambda row: self._own_rows(inherited(row))
        else:
            field.to_representation = lambda rows: inherited(self._own_rows(rows))

    def _own_rows(self, listed: Any) -> list[Any]:
        """Return related rows without those of other tenants, copied, since what is saved later keeps what it has."""
        rows = listed.all() if isinstance(listed, BaseManager) else listed
        is_unread = isinstance(rows, QuerySet) and rows._result_cache is None
        if is_unread and not rows.query.is_sliced and not rows.query.combinator and _has_tenant(rows.model):
            own = list(rows.filter(of_tenant(rows.model, self._context)))
        else:
            own = self._without_foreign(list(rows))
        copies = [copy.copy(row) if isinstance(row, Model) else row for row in own]
        for model in {type(row) for row in copies if isinstance(row, Model)}:
            self.empty_foreign(model, [row for row in copies if type(row) is model])
        return copies

    def _without_foreign(self, rows: list[Any]) -> list[Any]:
        own: list[Any] = []
        for row in rows:
            is_checked = isinstance(row, Model) and _has_tenant(type(row))
            if is_checked and self._foreign(type(row), "pk", {row.pk}):
                forget(row)
            else:
                own.append(row)
        return own

    def _show_copies(self, serializer: Any) -> None:
        """Let a serializer show a copy of each row, without references to another tenant's."""
        represent = serializer.to_representation

        def shown(row: Any) -> Any:
            if isinstance(row, Model):
                row = copy.copy(row)
                self.empty_foreign(type(row), [row])
            return represent(row)

        serializer.to_representation = shown


def _has_tenant(model: Any) -> bool:
    return not is_tenantless(model) and not problem_of_path(model)

"""Finds the tenants of Django rows: by the identity of the tenant models, never by a name or a number.

The program that runs the tools says which models these are (`configure`). Without that, no row belongs to a tenant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# Relations followed from a row without a tenant column.
MAX_HOPS = 3


@dataclass(frozen=True, slots=True)
class Way:
    """A way from a model's rows to their tenants.

    Attributes:
        lookup: leads to the tenant's primary key, or for a generic relation to the key of the object it refers to.
        key: the attribute of `TenantInfo` that the primary key is compared with; empty for a generic relation.
        generic: the generic foreign key at the end, if there is one.
        content_type: the lookup of the id of its content type.
        is_shared: the lookup goes through rows that a row has many of, and the row belongs to all tenants found.
    """

    lookup: str
    key: str = ""
    generic: Any = None
    content_type: str = ""
    is_shared: bool = False


class TenantModels:
    """The tenant models, and how other models' rows lead to them.

    Args:
        keys: for each tenant model the attribute of `TenantInfo` that holds its primary key: "id" or "external_id".
        declared: for some models the lookup to their tenant, instead of the ways that their relations show. It ends at
            a tenant model, or at a column with the primary key of `TenantInfo.external_id`.
        tenantless: models whose rows belong to no tenant, whatever their relations show.

    Raises:
        ValueError: a declared lookup does not exist.
    """

    def __init__(
        self,
        keys: Mapping[Any, str] | None = None,
        *,
        declared: Mapping[Any, str] | None = None,
        tenantless: Collection[Any] = (),
    ) -> None:
        self.keys = dict(keys or {})
        self.tenantless = frozenset(tenantless)
        self.declared = {model: self._declared(model, lookup) for model, lookup in (declared or {}).items()}
        self._ways: dict[tuple[Any, int], tuple[Way, ...]] = {}

    def key_of(self, model: Any) -> str:
        """Return the attribute of `TenantInfo` for a tenant model, and "" for any other model."""
        key: str = self.keys.get(concrete(model), "")
        return key

    def ways(self, model: Any, hops: int = MAX_HOPS) -> tuple[Way, ...]:
        """Return the ways from a model to its tenants: its own columns, else over at most `hops` relations."""
        known = self._ways.get((model, hops))
        if known is None:
            known = self._ways[model, hops] = tuple(self._find_ways(model, hops))
        return known

    def own_columns(self, model: Any) -> list[Any]:
        """Return a model's foreign keys to tenant models."""
        return [column for column in relations(model._meta) if self.key_of(column.related_model)]

    def _find_ways(self, model: Any, hops: int) -> Iterator[Way]:
        if concrete(model) in self.tenantless:
            return
        if (declared := self.declared.get(concrete(model))) is not None:
            yield declared
        elif key := self.key_of(model):
            yield Way("pk", key)
        elif own := self.own_columns(model):
            yield from (Way(f"{column.name}__pk", self.key_of(column.related_model)) for column in own)
        elif hops:
            for column in relations(model._meta):
                for way in self.ways(column.related_model, hops - 1):
                    yield _after(column.name, way)
            for field in generic_keys(model._meta):
                type_column = model._meta.get_field(field.ct_field).attname
                yield Way(field.fk_field, generic=field, content_type=type_column)

    def _declared(self, model: Any, lookup: str) -> Way:
        at, field, is_shared = model, None, False
        for name in lookup.split("__"):
            if at is None:
                raise ValueError(f"{model._meta.label} has no {lookup!r}: {name!r} does not follow a relation")
            try:
                field = at._meta.pk if name == "pk" else at._meta.get_field(name)
            except Exception as exc:
                raise ValueError(f"{model._meta.label} has no {lookup!r}: {exc}") from exc
            is_shared = is_shared or bool(field.many_to_many or field.one_to_many)
            at = getattr(field, "related_model", None)
        if at is None:
            return Way(lookup, "external_id", is_shared=is_shared)
        if not self.key_of(at):
            raise ValueError(f"{model._meta.label}: {lookup!r} leads to {at._meta.label}, which is no tenant")
        return Way(f"{lookup}__pk", self.key_of(at), is_shared=is_shared)


def _after(name: str, way: Way) -> Way:
    content_type = f"{name}__{way.content_type}" if way.content_type else ""
    return Way(f"{name}__{way.lookup}", way.key, way.generic, content_type, way.is_shared)


def concrete(model: Any) -> Any:
    """Return the model of a proxy, and any other model itself."""
    return getattr(getattr(model, "_meta", None), "concrete_model", None) or model


def relations(meta: Any) -> list[Any]:
    """Return a model's foreign keys."""
    columns = getattr(meta, "concrete_fields", ())
    return [column for column in columns if hasattr(getattr(column, "related_model", None), "_meta")]


def generic_keys(meta: Any) -> list[Any]:
    """Return a model's generic foreign keys, which name their object by content type and key."""
    return [field for field in getattr(meta, "private_fields", ()) if hasattr(field, "ct_field")]


_configured = [TenantModels()]


def configure(models: TenantModels) -> None:
    """Set the tenant models of this process."""
    _configured[0] = models


def tenant_models() -> TenantModels:
    """Return the tenant models of this process."""
    return _configured[0]

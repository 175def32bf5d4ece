"""Where a bundle is imported, and what the rows of all its parts need."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Model, Q
from django.utils.translation import gettext as _

from assistant.contrib.bundles.services.difference import Entry, FieldChange, changes_of
from assistant.contrib.bundles.services.format import ProviderName
from assistant.models import Provider, Tenant
from assistant.services.tenancy import audit_trail
from assistant.services.toolpolicy import catalogue, outside_tools


@dataclass
class Target:
    """The tenant of an import, who imports, and whether that is an operator of the deployment."""

    tenant: Tenant
    actor: audit_trail.Actor
    is_operator: bool
    # The settings of the tenant's own tools, by the tool's name, as they are after the import.
    tool_configs: dict[str, dict[str, Any]] = field(default_factory=dict)

    @cached_property
    def _providers(self) -> dict[tuple[str, str], Provider]:
        rows = Provider.objects.defer("api_key").filter(Q(tenant=self.tenant) | Q(tenant=None))
        return {(row.name, "tenant" if row.tenant_id else "deployment"): row for row in rows}

    def provider(self, name: ProviderName | None) -> Provider | None:
        """Return the tenant's own provider or the deployment's of a name; of two, that of the same kind as before.

        Raises:
            LookupError: there is none.
        """
        if name is None:
            return None
        other = "deployment" if name.of == "tenant" else "tenant"
        found = self._providers.get((name.name, name.of)) or self._providers.get((name.name, other))
        if found is None:
            raise LookupError(_("There is no provider “%(name)s” here.") % {"name": name.name})
        return found

    def provider_of(self, pk: int | None) -> Provider | None:
        """Return the provider that a row refers to; None if it is another tenant's."""
        return next((row for row in self._providers.values() if row.pk == pk), None)

    @cached_property
    def _outside_tools(self) -> frozenset[str]:
        entries = outside_tools.tools_of(tenant_id=self.tenant.pk, user_id=None)
        return frozenset(entry.tool.name for entry in entries)

    def knows_tool(self, name: str) -> bool:
        """Whether the catalogue or an external server of the tenant has a tool."""
        return name in catalogue.registry() or name in self._outside_tools


def put(row: Model, values: dict[str, Any]) -> tuple[FieldChange, ...]:
    """Set columns of a row, checked but not saved; return what changes. Of a new row all values that are not empty.

    Raises:
        ValidationError: a value is not valid. The row must not be saved.
    """
    is_new = row.pk is None
    before = {name: None if is_new else getattr(row, name) for name in values}
    for name, value in values.items():
        setattr(row, name, value)
    changes = changes_of((name, before[name], value) for name, value in values.items())
    if changes:
        row.full_clean(exclude=_unread(row))
    return tuple(one for one in changes if not is_new or one.after not in (None, "", [], {}))


def put_provider(target: Target, row: Model, name: str, wanted: ProviderName | None) -> tuple[FieldChange, ...]:
    """Set a column of a row that refers to a provider, not saved; return what changes.

    Raises:
        LookupError: there is no such provider. The row is as it was.
    """
    old = target.provider_of(getattr(row, f"{name}_id"))
    provider = target.provider(wanted)
    if provider == old:
        return ()
    setattr(row, name, provider)
    return (FieldChange(name, *(str(one) if one else None for one in (old, provider))),)


def _unread(row: Model) -> set[str]:
    """Return the columns that were not read, such as secrets; checking them would read them."""
    return set(row.get_deferred_fields()) if row.pk is not None else set()


def refused(section: str, name: str, reason: ValidationError | Exception | str) -> Entry:
    """Return the entry of what is not taken."""
    if isinstance(reason, ValidationError):
        if hasattr(reason, "message_dict"):
            reason = "; ".join(f"{key}: {' '.join(texts)}" for key, texts in reason.message_dict.items())
        else:
            reason = "; ".join(reason.messages)
    return Entry("refused", section, name, reason=str(reason)[:500])

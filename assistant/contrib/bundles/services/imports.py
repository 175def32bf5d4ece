"""Imports a bundle into a tenant, whole or not at all; a preview is the same import, rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from assistant.contrib.bundles.services.difference import Difference, Entry
from assistant.contrib.bundles.services.format import Bundle
from assistant.contrib.bundles.services.import_assistants import import_assistants
from assistant.contrib.bundles.services.import_settings import (
    import_limits,
    import_settings,
    import_variables,
)
from assistant.contrib.bundles.services.import_tools import import_tools
from assistant.contrib.bundles.services.parts import added_parts
from assistant.contrib.bundles.services.target import Target
from assistant.models import AuditEntry, Tenant
from assistant.services.tenancy import audit_trail, change_notices
from assistant.services.tenancy.permissions import permitted_tenants

ACTION = "bundle.import"
# Values that the audit does not keep.
_TEXTS = frozenset({"prompt", "name", "description", "starters", "greeting", "translations"})


class ImportRefused(ValueError):
    """Nothing is imported; the message says why, and can be shown."""


class ChangedMeanwhile(ImportRefused):
    """The import would no longer do what was shown; `difference` is what it would do now."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(_("The configuration was changed meanwhile: look at the difference again."))
        self.difference = difference


def preview_import(*, bundle: Bundle, tenant: Tenant, actor: audit_trail.Actor) -> Difference:
    """Return what `import_bundle` would do. Raises `ImportRefused` as it does."""
    with transaction.atomic():
        difference = _import(bundle, tenant, actor)
        transaction.set_rollback(True)
    return difference


@transaction.atomic
def import_bundle(*, bundle: Bundle, tenant: Tenant, actor: audit_trail.Actor, expected: str = "") -> Difference:
    """Give a tenant the configuration of a bundle, which holds from the next run on; return what was done.

    Rows are found by their short names within this tenant alone. What the bundle does not name is left alone; nothing
    is deleted but a delegate or a value. What this deployment lacks, or the actor may not set by hand, is left out and
    said. Importing a bundle again changes nothing.

    Args:
        actor: None for a command. Others than superusers must administer the tenant.
        expected: the digest of the difference that was shown; "" to import without comparing.

    Raises:
        ImportRefused: the actor does not administer the tenant, or the deployment leaves imports to operators.
        ChangedMeanwhile: the difference is not the expected one.
    """
    difference = _import(bundle, tenant, actor)
    if expected and difference.digest != expected:
        raise ChangedMeanwhile(difference)
    _record(tenant, actor, difference)
    change_notices.notify()
    return difference


def _import(bundle: Bundle, tenant: Tenant, actor: audit_trail.Actor) -> Difference:
    is_operator = actor is None or bool(actor.is_active and getattr(actor, "is_superuser", False))
    if not is_operator and (actor is None or tenant.pk not in permitted_tenants(actor).administered):
        raise ImportRefused(_("You do not administer this tenant."))
    if not is_operator and not settings.ASSISTANT_TENANT_BUNDLES:
        raise ImportRefused(_("Only operators import configurations here."))
    # Two imports at once must each be compared with what is there.
    row = Tenant.objects.select_for_update().get(pk=tenant.pk)
    target = Target(row, actor, is_operator)
    entries: list[Entry] = []
    if bundle.settings is not None:
        entries += import_settings(target, bundle.settings)
    if bundle.limits is not None:
        entries += import_limits(target, bundle.limits)
    entries += import_variables(target, bundle.variables, is_whole=bundle.kind == "tenant")
    # Assistants' tools depend on the tenant's, and those may depend on what apps add.
    entries += _import_added(target, bundle, gives_tools=True)
    entries += import_tools(target, None, bundle.tools, is_whole=bundle.kind == "tenant")
    entries += import_assistants(target, bundle.assistants, is_whole=bundle.kind == "tenant")
    entries += _import_added(target, bundle, gives_tools=False)
    return Difference(tuple(entries))


def _import_added(target: Target, bundle: Bundle, *, gives_tools: bool) -> Iterator[Entry]:
    for part in added_parts():
        if part.gives_tools == gives_tools:
            yield from part.take(target, getattr(bundle, part.key), bundle.kind == "tenant")


def _record(tenant: Tenant, actor: audit_trail.Actor, difference: Difference) -> None:
    AuditEntry.objects.bulk_create(
        AuditEntry(
            tenant=tenant,
            actor_id=actor.pk if actor is not None else None,
            action=ACTION,
            target=f"{entry.section} {entry.name}".strip()[:200],
            details=_details(entry),
        )
        for entry in difference.of_kind("create", "change")
    )


def _details(entry: Entry) -> dict[str, Any]:
    """Return the values that an audit may keep: numbers, switches, choices and names, but no texts and settings."""
    texts = _TEXTS.union(*(part.texts for part in added_parts()))
    shown = [one for one in entry.changes if one.name not in texts and not isinstance(one.after, dict)]
    hidden = [one.name for one in entry.changes if one not in shown]
    values = {one.name: [_word(one.before), _word(one.after)] for one in shown}
    return {"kind": entry.kind, "values": values} | ({"changes": hidden} if hidden else {})


def _word(value: object) -> str | None:
    if value in (None, "", []):
        return None
    return (", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))[:200]

"""Imports a tenant's settings, prompt variables and limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from assistant.contrib.bundles.services.difference import Entry, kind_of
from assistant.contrib.bundles.services.format import TENANT_PROVIDERS, Part, SettingsPart, VariablePart
from assistant.contrib.bundles.services.target import Target, put, put_provider, refused
from assistant.models import PromptVariable, TenantLimits
from assistant.models.limits import OF_ATTACHMENT_SPACE, OF_TENANT
from assistant.models.prompts import MAX_VARIABLES
from assistant.services.limits.quota_ledger import reset_use
from assistant.toolkit.text import clean_text


def import_settings(target: Target, part: SettingsPart) -> Iterator[Entry]:
    """Set the settings of a tenant and its providers."""
    tenant = target.tenant
    # A bundle of an older version lacks the newer settings, which stay as they are.
    values = {name: getattr(part, name) for name in part.model_fields_set if name not in TENANT_PROVIDERS}
    changes = put(tenant, values)
    for name in sorted(part.model_fields_set.intersection(TENANT_PROVIDERS)):
        try:
            changes = (*changes, *put_provider(target, tenant, name, getattr(part, name)))
        except LookupError as exc:
            yield refused("settings", name, exc)
    if changes:
        tenant.save(update_fields=[one.name for one in changes])
    yield Entry("change" if changes else "same", "settings", changes=changes)


def import_variables(target: Target, parts: Sequence[VariablePart], *, is_whole: bool) -> Iterator[Entry]:
    """Create and change the tenant's prompt variables. `is_whole`: others are only here."""
    stored = {row.name: row for row in PromptVariable.objects.filter(tenant=target.tenant)}
    names = {part.name for part in parts}
    for part in parts:
        row = stored.get(part.name)
        variable = row or PromptVariable(tenant=target.tenant, name=part.name)
        try:
            if row is None and len(stored) >= MAX_VARIABLES:
                raise ValidationError(_("A tenant has at most %(count)d variables.") % {"count": MAX_VARIABLES})
            changes = put(variable, {"value": clean_text(part.value)})
            variable.full_clean()
        except ValidationError as exc:
            yield refused("variable", part.name, exc)
            continue
        if changes or row is None:
            variable.save()
            stored[part.name] = variable
        yield Entry("create" if row is None else kind_of(changes, is_new=False), "variable", part.name, changes)
    if is_whole:
        yield from (Entry("kept", "variable", name) for name in stored if name not in names)


def import_limits(target: Target, part: Part) -> Iterator[Entry]:
    """Set the limits of a tenant; those of all members together only for operators, as by hand."""
    stored = TenantLimits.objects.select_for_update().filter(tenant=target.tenant).first()
    row = stored or TenantLimits(tenant=target.tenant)
    values = {name: getattr(part, name) for name in type(part).model_fields if name in part.model_fields_set}
    if not target.is_operator:
        closed = [name for name in (*OF_TENANT, *OF_ATTACHMENT_SPACE) if getattr(row, name) != values.pop(name)]
        if closed:
            reason = _("Only operators set the limits of all members together: %(names)s.")
            yield refused("limits", "", reason % {"names": ", ".join(map(_label, closed))})
    try:
        changes = put(row, values)
    except ValidationError as exc:
        yield refused("limits", "", exc)
        return
    if changes:
        row.save()
        reset_use(tenant_id=target.tenant.pk)
    yield Entry(kind_of(changes, is_new=stored is None), "limits", changes=changes)


def _label(name: str) -> str:
    """Return what pages call a limit."""
    field: Any = TenantLimits._meta.get_field(name)
    return str(field.verbose_name)

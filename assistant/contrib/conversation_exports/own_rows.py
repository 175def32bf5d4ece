"""How many rows of which kinds a tenant has of one of its members."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.db.models import Q
from django.utils.text import capfirst

from assistant import optional_apps
from assistant.models import Tenant
from assistant.services.privacy.ownership import owned_models, owned_rows
from assistant.services.tenancy.members import Member


def stored_about(member: Member) -> list[tuple[str, int]]:
    """Return the kinds of rows, as people call them, with the number of the member's own in the tenant, the most first.

    They are those that go with the person: an erasure deletes them, an export has them. One query for each kind.
    """
    ours = optional_apps.labels()
    found = []
    for model, lookups in owned_models(get_user_model()).items():
        if model._meta.app_label not in ours or model not in owned_models(Tenant):
            continue
        rows = owned_rows(model, Tenant, [member.tenant_id]).filter(_any_of(lookups, member.user_id))
        if count := rows.values("pk").distinct().count():
            found.append((str(capfirst(model._meta.verbose_name_plural)), count))
    return sorted(found, key=lambda one: (-one[1], one[0]))


def _any_of(lookups: tuple[str, ...], pk: object) -> Q:
    wanted = Q(pk__in=[])
    for lookup in lookups:
        wanted |= Q(**{lookup: pk})
    return wanted

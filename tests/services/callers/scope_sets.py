"""Every set of scopes that a key can have, and keys with them."""

from __future__ import annotations

from itertools import combinations

from django.contrib.auth.models import User

from assistant.models import ApiKey, Tenant
from assistant.services.tenancy.members import create_api_key
from assistant.services.tenancy.scopes import SCOPES

SETS = tuple(chosen for size in range(1, len(SCOPES) + 1) for chosen in combinations(SCOPES, size))
Keys = dict[tuple[str, ...], str]


def keys_of(tenant: Tenant, user: User) -> Keys:
    """A key of the member for each set of scopes."""
    keys = {chosen: create_api_key(tenant=tenant, user=user, name="set", scopes=chosen)[1] for chosen in SETS}
    assert ApiKey.objects.filter(tenant=tenant, name="set").count() == len(SETS)
    return keys

"""Whom a command's arguments name; what is not there ends the command with a sentence."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from assistant.models import Tenant
from assistant.services.tenancy import memberships


def find_tenant(slug: str) -> Tenant:
    """The tenant of that slug. Raises `CommandError`."""
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        raise CommandError(f"There is no tenant {slug!r}.")
    return tenant


def find_user(username: str) -> Any:
    """The user of that name, in whichever field the user model keeps it. Raises `CommandError`."""
    user = memberships.find_user(username)
    if user is None:
        raise CommandError(f"There is no user {username!r}.")
    return user

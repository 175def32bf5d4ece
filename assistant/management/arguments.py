"""Finds the rows that a command's arguments name."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from assistant.models import Tenant
from assistant.services.tenancy import memberships


def find_tenant(slug: str) -> Tenant:
    """Return the tenant with that slug. Raises `CommandError` if there is none."""
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        raise CommandError(f"There is no tenant {slug!r}.")
    return tenant


def find_user(username: str) -> Any:
    """Return the user with that name, in the user model's USERNAME_FIELD. Raises `CommandError` if there is none."""
    user = memberships.find_user(username)
    if user is None:
        raise CommandError(f"There is no user {username!r}.")
    return user

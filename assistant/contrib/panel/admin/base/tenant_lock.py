"""Lets forms about the same tenant wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.http import HttpRequest

from assistant.models import Tenant


@contextmanager
def merging_lock(request: HttpRequest, tenant: Tenant | None) -> Iterator[None]:
    """While a form about a tenant is sent, let other ones wait within the block, so that one sees the other's change.

    The tenant is read again. Its row is locked, since what the form is about may not be stored yet.
    """
    if tenant is None or request.method != "POST":
        yield
        return
    with transaction.atomic():
        list(Tenant.objects.select_for_update(no_key=True).filter(pk=tenant.pk).values_list("pk"))
        tenant.refresh_from_db()
        yield

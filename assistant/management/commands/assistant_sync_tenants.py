"""`manage.py assistant_sync_tenants`: syncs tenants and memberships with the host project's own."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from assistant.hosting import get_host, sync_all
from assistant.management.operator import OperatorCommand


class Command(OperatorCommand):
    help = "Sync tenants and memberships with the project's own, as ASSISTANT_TENANTS says; safe to repeat."

    def handle(self, *args: Any, **options: Any) -> None:
        host = get_host()
        if host is None:
            raise CommandError("The setting ASSISTANT_TENANTS names no class.")
        try:
            there, gone = sync_all(host)
        except ValidationError as exc:
            raise CommandError("; ".join(exc.messages)) from exc
        self.stdout.write(f"{there} tenants synced; {gone} deleted that the project no longer has.")

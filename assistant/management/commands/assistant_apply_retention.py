"""`manage.py assistant_apply_retention`: deletes records older than the retention periods. Run it once a day."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from assistant.management.arguments import find_tenant
from assistant.management.operator import OperatorCommand
from assistant.models import Tenant
from assistant.services.privacy.retention import apply_retention


class Command(OperatorCommand):
    help = "Delete records that are older than the retention periods of their tenant or the deployment."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", help="Only of this tenant.")
        parser.add_argument("--dry-run", action="store_true", help="Only count.")

    def handle(self, *args: Any, **options: Any) -> None:
        tenants = [find_tenant(options["tenant"])] if options["tenant"] else Tenant.objects.order_by("pk")
        for tenant in tenants:
            for kind, number in apply_retention(tenant=tenant, dry_run=options["dry_run"]).items():
                self.stdout.write(f"{tenant.slug}: {number} {kind}")

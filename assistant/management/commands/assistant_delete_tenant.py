"""`manage.py assistant_delete_tenant`: deletes a tenant with its data, and users who belong to no other tenant."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from assistant.management.arguments import find_tenant
from assistant.management.operator import OperatorCommand
from assistant.management.privacy_commands import add_actor, confirm, find_actor, show
from assistant.services.privacy.erasure import count_tenant, erase_tenant
from assistant.services.tenancy.host import host_row


class Command(OperatorCommand):
    help = "Delete a tenant completely: rows, files, people who belong to no other tenant, sessions, event logs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant")
        add_actor(parser)
        parser.add_argument("--dry-run", action="store_true", help="Only count.")
        parser.add_argument("--noinput", action="store_false", dest="interactive", help="Do not ask.")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant, actor = find_tenant(options["tenant"]), find_actor(options["by"])
        if options["dry_run"]:
            show(self, count_tenant(tenant))
            return
        confirm(options, tenant.slug)
        show(self, erase_tenant(tenant=tenant, actor=actor))
        if host_row(tenant) is not None:
            self.stdout.write(
                "Your project's own row and its users stay: HostTenants.delete_tenant did not delete them. "
                "restore_tenant of assistant.hosting makes the tenant again, empty."
            )

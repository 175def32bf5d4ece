"""`manage.py assistant_audit_feed`: appends the new entries of the audit to a file of JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.contrib.data_exports.audit_feed import NotAFeed, append_entries
from assistant.management.arguments import find_tenant
from assistant.management.operator import OperatorCommand


class Command(OperatorCommand):
    help = "Append the entries of the audit that a file does not have yet, a JSON object in each line; from cron."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--tenant", default="", help="Only a tenant's entries.")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = find_tenant(options["tenant"]) if options["tenant"] else None
        try:
            count = append_entries(options["file"], tenant=tenant)
        except (NotAFeed, OSError) as exc:
            raise CommandError(str(exc)) from exc
        self.stdout.write(f"{count} entries")

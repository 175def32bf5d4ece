"""`manage.py export_tenant`: everything of a tenant, as a zip file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from assistant.management.leaving import add_actor, find_actor, find_tenant, show
from assistant.services.takeout import export_tenant


class Command(BaseCommand):
    help = "Write everything that belongs to a tenant, but its secrets, into a new zip file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant")
        parser.add_argument("--file", type=Path, required=True)
        add_actor(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        tenant, actor = find_tenant(options["tenant"]), find_actor(options["by"])
        try:
            with options["file"].open("xb") as file:
                options["file"].chmod(0o600)
                counts = export_tenant(tenant=tenant, actor=actor, to=file)
        except OSError as exc:
            raise CommandError(str(exc)) from exc
        show(self, counts)

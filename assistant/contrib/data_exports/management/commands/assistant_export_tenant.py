"""`manage.py assistant_export_tenant`: writes all data of a tenant to a zip file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from assistant.contrib.data_exports.exports import export_tenant
from assistant.contrib.data_exports.management.export_files import write_export
from assistant.management.arguments import find_tenant
from assistant.management.operator import OperatorCommand
from assistant.management.privacy_commands import add_actor, find_actor, show


class Command(OperatorCommand):
    help = "Write all data of a tenant, except secrets, to a new zip file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant")
        parser.add_argument("--file", type=Path, required=True)
        add_actor(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = find_tenant(options["tenant"])
        actor = find_actor(options["by"])
        show(self, write_export(options["file"], lambda file: export_tenant(tenant=tenant, actor=actor, to=file)))

"""`manage.py assistant_export_user`: writes all data of a user, in every tenant, to a zip file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from assistant.contrib.data_exports.exports import export_user
from assistant.contrib.data_exports.management.export_files import write_export
from assistant.management.operator import OperatorCommand
from assistant.management.privacy_commands import add_actor, add_subject, find_actor, find_subject, show


class Command(OperatorCommand):
    help = "Write all data of a user, except secrets, to a new zip file."

    def add_arguments(self, parser: CommandParser) -> None:
        add_subject(parser)
        parser.add_argument("--file", type=Path, required=True)
        add_actor(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        user = find_subject(options)
        actor = find_actor(options["by"])
        show(self, write_export(options["file"], lambda file: export_user(user=user, actor=actor, to=file)))

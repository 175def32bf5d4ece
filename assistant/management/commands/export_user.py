"""`manage.py export_user`: everything of a user, in every tenant, as a zip file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from assistant.management.leaving import add_actor, add_subject, find_actor, find_subject, show
from assistant.services.takeout import export_user


class Command(BaseCommand):
    help = "Write everything that belongs to a user, but secrets, into a new zip file."

    def add_arguments(self, parser: CommandParser) -> None:
        add_subject(parser)
        parser.add_argument("--file", type=Path, required=True)
        add_actor(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        user, actor = find_subject(options), find_actor(options["by"])
        try:
            with options["file"].open("xb") as file:
                options["file"].chmod(0o600)
                counts = export_user(user=user, actor=actor, to=file)
        except OSError as exc:
            raise CommandError(str(exc)) from exc
        show(self, counts)

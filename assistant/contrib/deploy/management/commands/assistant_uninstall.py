"""`manage.py assistant_uninstall`: lists what the assistant has put into a project, and takes it out."""

from __future__ import annotations

import difflib
import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.contrib.deploy import uninstalling
from assistant.management.operator import OperatorCommand

CONFIRMATION = "uninstall"


class Command(OperatorCommand):
    help = (
        "List the tables, files and settings of the assistant in this project, and remove them. Nothing is removed "
        "before you agree. Export what you want to keep first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--yes", action="store_true", help="Remove without asking.")

    def handle(self, *args: Any, yes: bool = False, **options: Any) -> None:
        edited = self._list()
        if foreign := uninstalling.foreign_migrations():
            raise CommandError(
                f"These migrations of yours build on the assistant's: {', '.join(foreign)}. Take them back first."
            )
        if not (yes or self._is_agreed()):
            raise CommandError("Nothing was removed.")
        uninstalling.remove_data()
        for one in edited:
            one.path.write_text(one.after)
        self.stdout.write("Removed. Then: pip uninstall tenant-assistant")

    def _list(self) -> list[uninstalling.EditedFile]:
        """Write what would be removed; return the files that would be edited."""
        tables = uninstalling.tables()
        self.stdout.write(f"Tables: {len(tables)}, with {tables.total()} rows")
        for table, rows in sorted(tables.items()):
            self.stdout.write(f"  {table}: {rows}")
        self.stdout.write(f"Files of conversations and documents: {len(uninstalling.stored_files())}")
        if (folder := uninstalling.collected_files()) is not None:
            self.stdout.write(f"Collected static files: {folder}")
        edited = uninstalling.project_files()
        for one in edited:
            lines = (one.before.splitlines(keepends=True), one.after.splitlines(keepends=True))
            self.stdout.write("".join(difflib.unified_diff(*lines, str(one.path), str(one.path))))
            for number in one.rest:
                self.stdout.write(f"By hand: {one.path}, line {number} of what is left: names the assistant")
        for path in uninstalling.importing_modules([one.path for one in edited]):
            self.stdout.write(f"Yours, and left as it is: {path}, which imports the assistant")
        self.stdout.write("By hand: other modules of yours that import the assistant, variables of its environment,")
        self.stdout.write("and what is in Redis, in backups, and in the configuration of a proxy.")
        return edited

    def _is_agreed(self) -> bool:
        if not sys.stdin.isatty():
            raise CommandError(f"Nothing was removed. To remove all of this, add --yes (or type {CONFIRMATION}).")
        return input(f"Type {CONFIRMATION} to remove all of this: ").strip() == CONFIRMATION

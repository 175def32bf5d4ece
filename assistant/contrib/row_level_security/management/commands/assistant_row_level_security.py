"""`manage.py assistant_row_level_security`: installs, removes or checks the policies on the tenants' tables."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.contrib.row_level_security import policies
from assistant.management.operator import OperatorCommand


class Command(OperatorCommand):
    help = "Install, remove or check PostgreSQL's row-level security."
    works_on_tenants = False

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        install = actions.add_parser("install", help="as the tables' owner, and again after every migrate")
        install.add_argument("--role", required=True, help="the role the servers log in as; made if it is not there")
        install.add_argument("--host-tables", action="store_true", help="protect the host project's own tables too")
        actions.add_parser("remove", help="as the tables' owner")
        actions.add_parser("status", help="as the servers' role; exits with 1 if something is missing")

    def handle(self, *args: Any, action: str, role: str = "", host_tables: bool = False, **options: Any) -> None:
        try:
            if action == "status":
                self._say_status()
            elif action == "install":
                tables = policies.install(role=role, with_host=host_tables)
                self.stdout.write(f"{len(tables)} tables are protected; {role} may use them.")
            else:
                self.stdout.write(f"{len(policies.remove())} tables are no longer protected.")
        except ValueError as exc:
            raise CommandError(str(exc)) from exc

    def _say_status(self) -> None:
        found = policies.find_problems() + policies.find_hidden_rows()
        if found:
            raise CommandError("\n".join(found))
        self.stdout.write(f"Row-level security is on: {policies.count_protected()} tables, forced.")

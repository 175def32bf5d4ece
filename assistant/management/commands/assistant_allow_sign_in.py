"""`manage.py assistant_allow_sign_in`: ends limits of sign-in before their time."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.management.operator import OperatorCommand
from assistant.services.signin.limits import free_all, free_name
from assistant.services.tenancy import audit_trail


class Command(OperatorCommand):
    help = "Delete the counters of sign-in attempts: of a user name, also of an address, or of everybody with --all."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", nargs="?", default="", help="The user name.")
        parser.add_argument("--address", default="", help="Also delete the counters of this address.")
        parser.add_argument("--all", action="store_true", help="Delete the counters of all names and addresses.")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["username"]) == options["all"]:
            raise CommandError("Name a user, or give --all.")
        count = free_all() if options["all"] else free_name(options["username"], options["address"])
        audit_trail.record(actor=None, action="signin.allow", target=options["username"] or "everybody")
        self.stdout.write(f"{count} counters were deleted.")

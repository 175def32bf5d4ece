"""`manage.py assistant_delete_user`: deletes a user with all their data in every tenant."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.management.operator import OperatorCommand
from assistant.management.privacy_commands import add_actor, add_subject, confirm, find_actor, find_subject, show
from assistant.services.privacy.erasure import count_user, erase_user
from assistant.services.tenancy.memberships import LastAdministrator, check_users_leaving, find_user


class Command(OperatorCommand):
    help = "Delete a user completely: rows, files, sessions, event logs, and their name in the audit."

    def add_arguments(self, parser: CommandParser) -> None:
        add_subject(parser)
        add_actor(parser)
        parser.add_argument("--dry-run", action="store_true", help="Only count.")
        parser.add_argument("--noinput", action="store_false", dest="interactive", help="Do not ask.")

    def handle(self, *args: Any, **options: Any) -> None:
        user, actor = find_subject(options), find_actor(options["by"])
        if user == actor:
            raise CommandError("You cannot delete yourself, because the audit trail has to name an existing user.")
        try:
            # Before it asks to confirm.
            check_users_leaving(users=[user])
        except LastAdministrator as exc:
            raise CommandError(f"{user} is the last one there: {exc}, or delete the tenant.") from exc
        if options["dry_run"]:
            show(self, count_user(user))
            return
        confirm(options, options["username"] or options["end_user"][1])
        name = user.get_username()
        show(self, erase_user(user=user, actor=actor))
        if find_user(name) is not None:
            self.stdout.write("The account is your project's, and stays: HostTenants.delete_user did not delete it.")

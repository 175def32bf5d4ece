"""`manage.py assistant_reset_second_factor`: lets somebody who has lost a second factor sign in with the password."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.contrib.sign_in.services.factors import reset_second_factor
from assistant.contrib.sign_in.services.policy import is_on
from assistant.management.arguments import find_user
from assistant.management.operator import OperatorCommand


class Command(OperatorCommand):
    help = "Remove a user's authenticator app, passkeys and recovery codes, and sign them out everywhere."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="The user name.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not is_on():
            raise CommandError("ASSISTANT_SECOND_FACTOR is off, so nobody has a second factor.")
        count = reset_second_factor(user=find_user(options["username"]), actor=None)
        self.stdout.write(f"{count} factors were removed.")

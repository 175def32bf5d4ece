"""`manage.py assistant_allow_origin`: lets the pages of a site show an assistant to the tenant's end users."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from assistant.contrib.end_users.services.tokens import allow_origin
from assistant.management.operator import OperatorCommand
from assistant.models import Assistant
from assistant.services.tenancy import audit_trail


class Command(OperatorCommand):
    help = "Let the pages of a site show an assistant to the tenant's end users; safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="The tenant's slug.")
        parser.add_argument("assistant", help="The assistant's slug.")
        parser.add_argument("origin", help="As browsers name it: https://shop.example.com")

    def handle(self, *args: Any, **options: Any) -> None:
        found = Assistant.objects.filter(tenant__slug=options["tenant"], slug=options["assistant"])
        assistant = found.select_related("tenant").first()
        if assistant is None:
            raise CommandError(f"There is no assistant {options['assistant']!r} of a tenant {options['tenant']!r}.")
        try:
            row = allow_origin(assistant=assistant, origin=options["origin"])
        except ValidationError as exc:
            raise CommandError(" ".join(exc.messages)) from exc
        audit_trail.record(actor=None, action="widgetorigin.add", target=str(row), tenant=assistant.tenant)
        self.stdout.write(f"Pages of {row.origin} may show {assistant.name} of {assistant.tenant.name}.")

"""`manage.py create_tenant`: creates a tenant and the membership of its owner."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from assistant.management.operator import OperatorCommand
from assistant.services.tenancy.tenants import create_tenant


class Command(OperatorCommand):
    help = "Create a tenant. Its owner is an existing user."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="The name in URLs: letters, digits, - and _.")
        parser.add_argument("--name", required=True, help="The name that people see.")
        parser.add_argument("--owner", required=True, metavar="USERNAME")
        parser.add_argument("--timezone", default="UTC", help="An IANA zone such as Europe/Vienna; default UTC.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            tenant = create_tenant(
                slug=options["slug"], name=options["name"], owner=options["owner"], timezone=options["timezone"]
            )
        except ValidationError as exc:
            raise CommandError(
                "; ".join(f"{field}: {' '.join(errors)}" for field, errors in exc.message_dict.items())
            ) from exc
        except ValueError as exc:
            raise CommandError(str(exc)) from exc
        self.stdout.write(f"Created tenant {tenant.slug}, owned by {options['owner']}.")

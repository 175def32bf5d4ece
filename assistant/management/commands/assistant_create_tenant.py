"""`manage.py assistant_create_tenant`: creates a tenant with its owner and an assistant."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from assistant.management.operator import OperatorCommand
from assistant.services.assistants.first_assistant import create_tenant_with_assistant


class Command(OperatorCommand):
    help = "Create a tenant with an assistant. Its owner is an existing user, who can chat at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="The name in URLs: letters, digits, - and _.")
        parser.add_argument("--name", required=True, help="The name that people see.")
        parser.add_argument("--owner", required=True, metavar="USERNAME")
        parser.add_argument("--timezone", default="UTC", help="An IANA zone such as Europe/Vienna; default UTC.")
        parser.add_argument("--assistant", default="assistant", metavar="SLUG", help="The assistant's name in URLs.")
        parser.add_argument("--prompt", default="", metavar="TEXT", help="Its prompt, published; it has a default.")
        parser.add_argument("--tools", default="", metavar="NAMES", help="Tools to switch on, separated by commas.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            tenant = create_tenant_with_assistant(
                **{name: options[name] for name in ("slug", "name", "owner", "timezone", "assistant", "prompt")},
                tools=[name.strip() for name in options["tools"].split(",") if name.strip()],
            )
        except ValidationError as exc:
            raise CommandError(
                "; ".join(f"{field}: {' '.join(errors)}" for field, errors in exc.message_dict.items())
            ) from exc
        except ValueError as exc:
            raise CommandError(str(exc)) from exc
        self.stdout.write(
            f"Created tenant {tenant.slug}, owned by {options['owner']}, with the assistant {options['assistant']}.\n"
            f"Chat at /t/{tenant.slug}/, or with: manage.py assistant_chat {tenant.slug}"
        )

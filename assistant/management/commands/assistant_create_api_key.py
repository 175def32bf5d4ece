"""`manage.py assistant_create_api_key`: creates an API key and prints it on a line of its own, the last."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from assistant.management.arguments import find_tenant, find_user
from assistant.management.operator import OperatorCommand
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.members import create_api_key
from assistant.services.tenancy.scopes import DEFAULT_SCOPES, SCOPES

MAX_DAYS = 36_500
MAX_REQUESTS = 2**31 - 1


class Command(OperatorCommand):
    help = "Create an API key for a member. It is printed once and not stored."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant", help="The tenant's slug.")
        parser.add_argument("username")
        parser.add_argument("--name", default="command line", help="What the key is for.")
        parser.add_argument(
            "--scopes", default=",".join(DEFAULT_SCOPES), help=f"Any of {','.join(SCOPES)}; default %(default)s."
        )
        parser.add_argument("--expires", type=int, metavar="DAYS", help="When it expires; default never.")
        for window in ("minute", "day"):
            parser.add_argument(
                f"--per-{window}", type=int, metavar="N", help=f"Requests it may send a {window}; default any number."
            )
        parser.add_argument("--at-once", type=int, metavar="N", help="Runs it may have at once; default its member's.")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant, user = find_tenant(options["tenant"]), find_user(options["username"])
        days = options["expires"]
        if days is not None and not 1 <= days <= MAX_DAYS:
            raise CommandError(f"--expires takes 1 to {MAX_DAYS} days.")
        for window in ("minute", "day"):
            if options[f"per_{window}"] is not None and not 1 <= options[f"per_{window}"] <= MAX_REQUESTS:
                raise CommandError(f"--per-{window} takes 1 to {MAX_REQUESTS} requests.")
        if options["at_once"] is not None and not 1 <= options["at_once"] <= MAX_REQUESTS:
            raise CommandError(f"--at-once takes 1 to {MAX_REQUESTS} runs.")
        try:
            row, key = create_api_key(
                tenant=tenant,
                user=user,
                name=options["name"],
                scopes=[scope.strip() for scope in options["scopes"].split(",") if scope.strip()],
                expires_at=timezone.now() + timedelta(days=days) if days else None,
                requests_per_minute=options["per_minute"],
                requests_per_day=options["per_day"],
                runs_at_once=options["at_once"],
            )
        except ValueError as exc:
            raise CommandError(str(exc)) from exc
        audit_trail.record(actor=None, action="apikey.add", target=str(row), tenant=tenant)
        ends = f"until {row.expires_at:%Y-%m-%d}" if row.expires_at else "until it is revoked"
        self.stdout.write(f"{row.name}: for {options['username']} of {tenant.slug}, {ends}. It is not shown again:")
        self.stdout.write(key)

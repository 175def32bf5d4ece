"""`manage.py tools`: lists the catalogue, or the tools that one user may use with the rule that decided each."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.management.arguments import find_tenant, find_user
from assistant.management.operator import OperatorCommand
from assistant.models import Assistant
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.policy import effective_tools


class Command(OperatorCommand):
    help = "List the tools of this deployment, or those of one user with the rule that decided each."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", metavar="SLUG")
        parser.add_argument("--user", metavar="USERNAME")
        parser.add_argument("--assistant", metavar="SLUG", help="Also apply this assistant's switches.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["tenant"] is None and options["user"] is None and options["assistant"] is None:
            self._table([(tool.name, tool.description) for tool in catalogue.registry()])
            return
        if options["tenant"] is None or options["user"] is None:
            raise CommandError("Give both --tenant and --user.")
        self._effective(options["tenant"], options["user"], options["assistant"])

    def _effective(self, tenant_slug: str, username: str, assistant_slug: str | None) -> None:
        tenant, user = find_tenant(tenant_slug), find_user(username)
        assistant_id = None
        if assistant_slug is not None:
            found = Assistant.objects.filter(tenant=tenant, slug=assistant_slug).first()
            if found is None:
                raise CommandError(f"{tenant.slug} has no assistant {assistant_slug!r}.")
            assistant_id = found.pk
        effective = effective_tools(tenant_id=tenant.pk, user_id=user.pk, assistant_id=assistant_id)
        self._table([(f"{entry.policy:3}  {entry.tool.name}", entry.rule) for entry in effective])

    def _table(self, rows: list[tuple[str, str]]) -> None:
        width = max((len(name) for name, _ in rows), default=0)
        for name, text in rows:
            self.stdout.write(f"{name:{width}}  {text}")

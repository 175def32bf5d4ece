"""`manage.py assistant_tools`: lists the tools, or one user's with their rules, and switches tools off for all."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.management.arguments import find_tenant, find_user
from assistant.management.operator import OperatorCommand
from assistant.models import Assistant
from assistant.services.tenancy.members import find_member
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import block_tool, read_blocks, unblock_tool
from assistant.services.toolpolicy.conditions import as_offered
from assistant.services.toolpolicy.policy import effective_tools

_DURATION = re.compile(r"([1-9]\d{0,5})([mhd])", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class Command(OperatorCommand):
    help = (
        "List the tools of this deployment, or those of one user with the rule that decided each; "
        "switch a tool off in the whole deployment, and on again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=("list", "off", "on"), default="list")
        parser.add_argument("tool", nargs="?", help="The tool to switch off or on again for all tenants.")
        parser.add_argument("--tenant", metavar="SLUG")
        parser.add_argument("--user", metavar="USERNAME")
        parser.add_argument("--assistant", metavar="SLUG", help="Also apply this assistant's switches.")
        parser.add_argument("--reason", help="Why it is switched off. Rules, and so tenants, show it.")
        parser.add_argument(
            "--for", dest="lasts", metavar="2h", help="For so many minutes, hours or days: 30m, 2h, 1d."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] != "list":
            self._switch(options["action"], options["tool"], options["reason"], options["lasts"])
        elif options["tenant"] is None and options["user"] is None and options["assistant"] is None:
            blocks = read_blocks()
            names = list(catalogue.registry())
            self._table([(tool.name, _described(tool.description, blocks.get(tool.name))) for tool in names])
            others = sorted(blocks.keys() - {tool.name for tool in names})
            self._table([(name, blocks[name].rule) for name in others])
        elif options["tenant"] is None or options["user"] is None:
            raise CommandError("Give both --tenant and --user.")
        else:
            self._effective(options["tenant"], options["user"], options["assistant"])

    def _switch(self, action: str, tool: str | None, reason: str | None, lasts: str | None) -> None:
        if tool is None:
            raise CommandError("Name the tool.")
        if action == "on":
            is_on = unblock_tool(actor=None, tool=tool)
            self.stdout.write(f"{tool} follows its switches again." if is_on else f"{tool} was not off for everybody.")
            return
        try:
            made = block_tool(actor=None, tool=tool, reason=reason or "", lasts=_duration(lasts))
        except ValueError as exc:
            raise CommandError(f"Nothing was changed: {exc}.") from exc
        self.stdout.write(f"{tool}: {made.rule}")

    def _effective(self, tenant_slug: str, username: str, assistant_slug: str | None) -> None:
        tenant, user = find_tenant(tenant_slug), find_user(username)
        assistant_id = None
        if assistant_slug is not None:
            found = Assistant.objects.filter(tenant=tenant, slug=assistant_slug).first()
            if found is None:
                raise CommandError(f"{tenant.slug} has no assistant {assistant_slug!r}.")
            assistant_id = found.pk
        effective = effective_tools(tenant_id=tenant.pk, user_id=user.pk, assistant_id=assistant_id)
        member = find_member(user_id=user.pk, tenant_slug=tenant.slug, with_end_users=True)
        if member is not None:
            effective = as_offered(effective, member=member, assistant_slug=assistant_slug or "")
        self._table([(f"{entry.policy:3}  {entry.tool.name}", entry.rule) for entry in effective])

    def _table(self, rows: list[tuple[str, str]]) -> None:
        width = max((len(name) for name, _ in rows), default=0)
        for name, text in rows:
            self.stdout.write(f"{name:{width}}  {text}")


def _described(description: str, block: Any) -> str:
    return description if block is None else f"{block.rule} {description}"


def _duration(text: str | None) -> timedelta | None:
    if text is None:
        return None
    found = _DURATION.fullmatch(text)
    if found is None:
        raise CommandError("A duration is a number of minutes, hours or days: 30m, 2h, 1d.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})

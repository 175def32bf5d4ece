"""`manage.py assistant_prove`: two tenants in a throw-away database; every tool is called to reach the other's rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.contrib.data.services.prove.proving import Prover, tools_to_prove
from assistant.contrib.data.services.prove.reporting import as_html, as_junit, as_text
from assistant.contrib.data.services.prove.throwaway import nothing_leaves, throw_away_database
from assistant.management.operator import OperatorCommand
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import InvalidTool


class Command(OperatorCommand):
    help = (
        "Seed two tenants in a throw-away database, call every tool as member, admin and end user with generated "
        "arguments and the other tenant's, and report what is returned, changed or linked. Exits with 1 if anything is."
    )
    works_on_tenants = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--html", metavar="FILE", type=Path, help="Write the report as a page.")
        parser.add_argument("--junit", metavar="FILE", type=Path, help="Write the report as JUnit has it.")
        parser.add_argument("--tools", metavar="NAMES", default="", help="Only these, comma separated.")
        parser.add_argument(
            "--no-migrations", action="store_true", help="Make the tables from the models, which is faster."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        tools = tools_to_prove(list(catalogue.registry()))
        if names := {name.strip() for name in options["tools"].split(",") if name.strip()}:
            if unknown := names - {tool.name for tool in tools}:
                raise CommandError(f"There is no tool {', '.join(sorted(unknown))}.")
            tools = [tool for tool in tools if tool.name in names]
        if not tools:
            raise CommandError("There are no tools that run here.")
        say = self.stderr.write if options["verbosity"] > 1 else lambda name: None
        try:
            with nothing_leaves(), throw_away_database(migrate=not options["no_migrations"]):
                proof = Prover(tools, say).prove()
        except InvalidTool as exc:
            raise CommandError(str(exc)) from exc
        for option, text in (("html", as_html), ("junit", as_junit)):
            if options[option] is not None:
                options[option].write_text(text(proof), encoding="utf-8")
        for finding in proof.findings:
            self.stdout.write(as_text(finding))
        for name, reason in {**proof.skipped, **proof.unseeded}.items():
            self.stdout.write(f"{name} was left out: {reason}")
        calls = sum(proof.calls.values())
        told = f"{len(proof.calls)} tools, {calls} calls, {proof.rows} rows: {len(proof.findings)} findings."
        if proof.findings:
            raise CommandError(told)
        self.stdout.write(self.style.SUCCESS(told))

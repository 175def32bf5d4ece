"""`manage.py assistant_check`: checks each part of a deployment, and says how to fix what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from assistant.contrib.deploy.findings import Finding
from assistant.contrib.deploy.outside import outside_findings
from assistant.contrib.deploy.report import report_of
from assistant.contrib.deploy.site import site_findings
from assistant.contrib.deploy.stores import store_findings
from assistant.management.operator import OperatorCommand


class Command(OperatorCommand):
    help = "Check this deployment, and say how to fix what is wrong. Exits with 1 if anything is."
    # What is wrong with them is among the findings, as are rows that cannot be seen.
    works_on_tenants = False
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", help="ask the running deployment too: https://assistant.example.com")
        parser.add_argument("--report", type=Path, metavar="FILE", help="write what a report of a fault needs")
        parser.add_argument("--log", type=Path, metavar="FILE", help="a log, whose end is part of the report")

    def handle(
        self,
        *args: Any,
        url: str | None = None,
        report: Path | None = None,
        log: Path | None = None,
        **options: Any,
    ) -> None:
        if log is not None and report is None:
            raise CommandError("--log is part of a report: add --report FILE.")
        findings = [*store_findings()]
        try:
            findings += site_findings(has_proxy=bool(url))
        except DatabaseError as exc:
            findings.append(Finding("tenants", f"they cannot be read ({type(exc).__name__})", "manage.py migrate"))
        if url:
            findings += outside_findings(url)
        for finding in findings:
            self.stdout.write(finding.line)
        if report is not None:
            try:
                report.write_text(report_of(findings, log))
            except OSError as exc:
                raise CommandError(str(exc)) from exc
            self.stdout.write(f"The report is {report}. Read it before you send it.")
        if count := sum(bool(finding.fix) for finding in findings):
            raise CommandError(f"{count} to fix.")

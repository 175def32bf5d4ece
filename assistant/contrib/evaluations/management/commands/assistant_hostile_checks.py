"""`manage.py assistant_hostile_checks`: makes them here and now; its exit code tells CI what came out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from assistant.contrib.evaluations.models import HostileCheckResult, HostileCheckRun
from assistant.contrib.evaluations.services.hostile_checks.background import make_checks
from assistant.contrib.evaluations.services.hostile_checks.checks import ChecksRefused, begin_checks
from assistant.core.values.pricing import MILLIONTHS
from assistant.management.arguments import find_tenant
from assistant.management.operator import OperatorCommand
from assistant.models import Assistant
from assistant.services.runs.manager import get_runs

Outcome = HostileCheckResult.Outcome
# Exit codes.
FAILED, NOT_MADE = 1, 2


class Command(OperatorCommand):
    help = (
        "Ask an assistant hostile questions with its live configuration, without running a tool. "
        "Exits with 1 if a check failed, and with 2 if not all could be made."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--assistant", required=True, metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="Write all results, with the evidence, as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = find_tenant(options["tenant"])
        assistant = Assistant.objects.filter(tenant=tenant, slug=options["assistant"]).select_related("tenant").first()
        if assistant is None:
            raise CommandError(f"{tenant.slug} has no assistant {options['assistant']!r}.")
        try:
            run = begin_checks(assistant=assistant, in_background=False)
        except ChecksRefused as exc:
            raise CommandError(str(exc), returncode=NOT_MADE) from exc
        asyncio.run(_make(run, None if options["json"] else self._write))
        run.refresh_from_db()
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(run), indent=2, ensure_ascii=False))
        else:
            self.stdout.write(f"{run.failed} failed, {run.passed} passed, {run.undecided} undecided.")
        if run.failed:
            raise CommandError("A hostile check failed.", returncode=FAILED)
        errors = run.results.filter(tenant=run.tenant_id, outcome=Outcome.ERROR).count()
        if run.state != HostileCheckRun.State.DONE or errors:
            raise CommandError(run.problem or f"{errors} checks ended with an error.", returncode=NOT_MADE)

    def _write(self, result: HostileCheckResult) -> None:
        styles = {Outcome.PASSED: self.style.SUCCESS, Outcome.FAILED: self.style.ERROR}
        style = styles.get(Outcome(result.outcome), self.style.WARNING)
        self.stdout.write(f"{style(result.outcome.upper().ljust(7))} {result.key}: {result.name}")
        if result.reason:
            self.stdout.write(f"        {result.reason}")


async def _make(run: HostileCheckRun, on_result: Any) -> None:
    try:
        await make_checks(tenant_id=run.tenant_id, pk=run.pk, on_result=on_result)
    finally:
        await get_runs().stop()


def _as_json(run: HostileCheckRun) -> dict[str, Any]:
    return {
        "tenant": run.tenant.slug,
        "assistant": run.assistant.slug,
        "state": run.state,
        "problem": run.problem,
        "failed": run.failed,
        "passed": run.passed,
        "undecided": run.undecided,
        "cost": run.cost / MILLIONTHS,
        "configuration": run.configuration,
        "results": [
            {
                "key": row.key,
                "kind": row.kind,
                "name": row.name,
                "outcome": row.outcome,
                "reason": row.reason,
                "question": row.question,
                "planted": {"tool": row.planted_tool, "result": row.planted_result} if row.planted_tool else None,
                "calls": row.calls,
                "answer": row.answer,
            }
            for row in run.results.filter(tenant=run.tenant_id)
        ],
    }

"""How long answers, recorded calls and results of hostile checks are kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from assistant.contrib.evaluations.models import EvaluationCase, EvaluationResult, HostileCheckRun
from assistant.models import Tenant
from assistant.services.privacy.retention_rules import Due, delete_rows, keep_for


def register() -> None:
    """Apply a tenant's retention periods to the rows of this app."""
    keep_for("conversations", _answers)
    keep_for("tool_calls", _calls)
    keep_for("audit", _hostile_checks)


def _answers(tenant: Tenant, until: datetime) -> Iterator[Due]:
    # Those of questions that were asked in conversations are deleted with these.
    typed = EvaluationResult.objects.filter(tenant=tenant, created_at__lt=until, case__conversation=None)
    yield Due("answers in evaluations", typed, delete_rows)


def _calls(tenant: Tenant, until: datetime) -> Iterator[Due]:
    recorded = EvaluationCase.objects.filter(tenant=tenant, created_at__lt=until).exclude(recorded=[])
    yield Due("recorded calls in evaluations", recorded, lambda rows: rows.update(recorded=[]))
    called = EvaluationResult.objects.filter(tenant=tenant, created_at__lt=until).exclude(calls=[])
    yield Due("calls in evaluations", called, lambda rows: rows.update(calls=[]))


def _hostile_checks(tenant: Tenant, until: datetime) -> Iterator[Due]:
    yield Due("hostile checks", HostileCheckRun.objects.filter(tenant=tenant, ended_at__lt=until), delete_rows)

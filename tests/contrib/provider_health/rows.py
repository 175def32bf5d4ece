"""Runs that models answered, or did not."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from assistant.models import Assistant, Run
from tests.factories import make_conversation, make_run

FAILED = {"status": Run.Status.FAILED, "error_code": "provider_error"}
TAKEN_OVER = {"fallback_provider": "Other", "fallback_model": "other-1"}
OURS = {"status": Run.Status.FAILED, "error_code": "internal_error"}


def make_runs(assistant: Assistant, count: int, *, at: datetime, user: User, **fields: Any) -> None:
    """Make runs of an assistant that began at a time, by default answered ones of the model `m-1` of *Shared*."""
    conversation = make_conversation(user, assistant)
    of_model = {"provider_name": "Shared", "model": "m-1", "first_token_ms": 500}
    pks = [make_run(conversation, **{**of_model, **fields}).pk for _ in range(count)]
    Run.objects.filter(tenant=assistant.tenant, pk__in=pks).update(started_at=at, ended_at=at)

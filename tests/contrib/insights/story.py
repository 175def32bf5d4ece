"""The planted story: a prompt version and, some days later, a switched-off tool spoil one tenant."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from django.utils import timezone

from assistant.models import AuditEntry, PromptVersion
from tests.base import Cast
from tests.contrib.insights.rows import day_sum
from tests.factories import switch_tool

DAYS = 40
# How long ago the prompt was published, and the tool switched off.
STEP_DAYS = 20
OFF_DAYS = 8


def plant(cast: Cast, *, rival: bool = False) -> None:
    """Spoil Acme, or Globex: since version 2 answers are disliked, and since `refund` is off calls are refused."""
    assistant = cast.rival_support if rival else cast.support
    tenant = assistant.tenant
    assistant.prompt_versions.update(status=PromptVersion.Status.ARCHIVED)
    PromptVersion.objects.create(assistant=assistant, number=2, text="Be rude.", status="published")
    switch_tool(tenant, "refund", "off")
    today = timezone.now().astimezone(UTC).date()
    for ago in range(DAYS):
        is_new = ago < STEP_DAYS
        is_off = ago < OFF_DAYS
        sums = {"runs": 20, "thumbs_down": 6 if is_new else 1, "refused": 6 if is_off else 0}
        day = today - timedelta(days=ago)
        day_sum(cast, day, rival=rival, **sums, prompt_number=2 if is_new else 1)
        calls = {"runs": 6, "calls": 6, "refused": 6 if is_off else 0, "thumbs_down": 1}
        day_sum(cast, day, rival=rival, **calls, prompt_number=2 if is_new else 1, tool="refund")
    changes = (
        (STEP_DAYS - 1, "prompt.publish", f"{assistant.slug} v2", {"values": {"published version": ["1", "2"]}}),
        (OFF_DAYS - 1, "tool.switch", "refund", {"policy": "off", "before": "on"}),
        (12, "document.add", "Opening hours", {}),
        (OFF_DAYS, "tenant.change", tenant.name, {"changes": ["name"]}),
    )
    for ago, action, target, details in changes:
        entry = AuditEntry.objects.create(tenant=tenant, actor=cast.amy, action=action, target=target, details=details)
        at = datetime.combine(today - timedelta(days=ago), time(0, 30), UTC)
        AuditEntry.objects.filter(pk=entry.pk).update(created_at=at)

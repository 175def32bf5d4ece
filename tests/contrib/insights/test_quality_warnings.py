"""Warnings of steps down: when there is one, who is told, and how often."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from assistant.contrib.insights.models import QualityWarning
from assistant.contrib.insights.services.warnings import claim_mails, finish_mail, record_warnings, send_mail
from assistant.models import TenantLimits
from tests.base import Cast
from tests.contrib.insights.rows import day_sum

pytestmark = pytest.mark.django_db


def weeks_then(cast: Cast, *, runs: int, down: int, rival: bool = False) -> int:
    """Create four good weeks and a day with so many runs and bad ratings; return the number of new warnings."""
    now = timezone.now()
    day = now.astimezone(UTC).date()
    for number in range(3, 30):
        day_sum(cast, day - timedelta(days=number), runs=10, thumbs_down=number % 5 == 0, rival=rival)
    day_sum(cast, day, runs=runs, thumbs_down=down, rival=rival)
    tenant = cast.globex if rival else cast.acme
    return record_warnings(tenant_id=tenant.pk, now=now)


def test_a_step_down_is_told_once(cast: Cast) -> None:
    assert weeks_then(cast, runs=40, down=10) == 1
    assert record_warnings(tenant_id=cast.acme.pk, now=timezone.now() + timedelta(days=1)) == 0
    warning = QualityWarning.objects.get()
    assert (warning.tenant, warning.assistant, warning.measure) == (cast.acme, cast.support, "disliked")
    assert (warning.runs, warning.share) == (40, 250)


@pytest.mark.parametrize(("runs", "down"), [(40, 2), (15, 10), (400, 16)])
def test_chance_few_runs_and_small_steps_are_no_warning(cast: Cast, runs: int, down: int) -> None:
    assert weeks_then(cast, runs=runs, down=down) == 0


def test_warnings_can_be_switched_off(cast: Cast, settings: Any) -> None:
    settings.ASSISTANT_QUALITY_WARNINGS = False
    assert weeks_then(cast, runs=40, down=20) == 0


def test_the_tenants_addresses_get_an_e_mail(cast: Cast, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    TenantLimits.objects.create(tenant=cast.acme, warning_emails=["boss@acme.example"])
    weeks_then(cast, runs=40, down=10)
    (due,) = claim_mails(now=timezone.now())
    assert claim_mails(now=timezone.now()) == []
    finish_mail(due=due, sent=send_mail(due))
    assert mail.outbox[0].to == ["boss@acme.example"]
    assert "25.0 %" in mail.outbox[0].body
    assert "Disliked" in mail.outbox[0].body
    assert claim_mails(now=timezone.now() + timedelta(hours=1)) == []


def test_home_shows_what_has_become_worse_to_those_whom_it_concerns(cast: Cast, root: Client, amys: Client) -> None:
    weeks_then(cast, runs=40, down=10, rival=True)
    assert "Support: disliked 25 %" in root.get("/admin/").content.decode()
    (need,) = [one for one in root.get("/admin/").context["needs"] if "answers worse" in one["sentence"]]
    assert need["items"][0][1] == "Globex"
    assert root.get(need["items"][0][2]).status_code == 200
    assert not [one for one in amys.get("/admin/").context["needs"] if "answers worse" in one["sentence"]]
    assert amys.get(need["items"][0][2]).status_code == 404

"""Warnings of steps down: when there is one, who is told, and how often."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from assistant.contrib.insights.models import QualityWarning, WarningSettings
from assistant.contrib.insights.services.warning_mails import finish_mail, send_mail
from assistant.contrib.insights.services.warnings import claim_mails, record_warnings
from assistant.models import TenantLimits, ToolCall
from assistant.services.toolpolicy.blocks import block_tool
from tests.base import Cast
from tests.contrib.insights.rows import day_sum, ended_run
from tests.contrib.panel.home.test_home import use_of_today

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
    WarningSettings.objects.create(tenant=cast.acme, emails=["boss@acme.example"])
    weeks_then(cast, runs=40, down=10)
    (due,) = claim_mails(now=timezone.now())
    assert claim_mails(now=timezone.now()) == []
    finish_mail(due=due, sent=send_mail(due))
    assert mail.outbox[0].to == ["boss@acme.example"]
    assert "25.0 %" in mail.outbox[0].body
    assert "Disliked" in mail.outbox[0].body
    assert claim_mails(now=timezone.now() + timedelta(hours=1)) == []


def test_the_e_mail_leads_to_what_changed_where_the_sites_address_is_known(cast: Cast, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.ASSISTANT_PUBLIC_URL = "https://assistant.example/"
    WarningSettings.objects.create(tenant=cast.acme, emails=["boss@acme.example"])
    weeks_then(cast, runs=40, down=10)
    (due,) = claim_mails(now=timezone.now())
    send_mail(due)
    page = f"/admin/assistant_insights/daysum/what-changed/?assistant={cast.support.pk}"
    assert f"https://assistant.example{page}" in mail.outbox[0].body


def test_home_shows_what_has_become_worse_to_those_whom_it_concerns(cast: Cast, root: Client, amys: Client) -> None:
    weeks_then(cast, runs=40, down=10, rival=True)
    assert "Support: disliked 25 %" in root.get("/admin/").content.decode()
    (need,) = [one for one in root.get("/admin/").context["needs"] if "answers worse" in one["sentence"]]
    assert need["items"][0][1] == "Globex"
    assert need["url"] == need["items"][0][2]
    weeks_then(cast, runs=40, down=10)
    (two,) = [one for one in root.get("/admin/").context["needs"] if "answer worse" in one["sentence"]]
    assert two["url"].endswith("/what-changed/")
    assert two["names"] == ["Support"]
    assert ": Support" in root.get("/admin/").content.decode()
    page = root.get(two["url"])
    assert {name for _text, name, _url in two["items"]} == {"Acme", "Globex"}
    assert "Support (Acme)" in page.content.decode() and "Support (Globex)" in page.content.decode()
    QualityWarning.objects.filter(tenant=cast.acme).delete()
    assert root.get(need["items"][0][2]).status_code == 200
    assert not [one for one in amys.get("/admin/").context["needs"] if "answers worse" in one["sentence"]]
    assert amys.get(need["items"][0][2]).status_code == 404


def test_needs_begin_with_what_people_suffer_from(cast: Cast, root: Client, amys: Client) -> None:
    weeks_then(cast, runs=40, down=10)
    day_sum(cast, timezone.now().astimezone(UTC).date(), model="other", runs=20, failed=19)
    use_of_today(cast.acme, 10)
    TenantLimits.objects.update_or_create(tenant=cast.acme, defaults={"tenant_messages_per_day": 10})
    run = ended_run(cast)
    ToolCall.objects.create(tenant=cast.acme, run=run, call_id="w", name="refund", status="awaiting_approval")
    block_tool(actor=cast.root, tool="current_time", reason="The clock is wrong")
    expected = [
        "1 limit is used up and refuses",
        "1 assistant fails",
        "1 assistant answers worse than in the weeks before",
        "1 tool call waits for approval",
    ]
    needs = root.get("/admin/").context["needs"]
    assert [one["sentence"] for one in needs][:5] == [*expected, "1 tool is off for everyone"]
    assert [one["is_urgent"] for one in needs][:5] == [True, True, True, False, False]
    assert needs[1]["items"][0][0] == "Support: 19 of 60 runs"
    assert root.get(needs[4]["items"][0][2]).status_code == 200
    assert [one["sentence"] for one in amys.get("/admin/").context["needs"]][:4] == expected


def test_a_few_failures_are_no_failing_assistant(cast: Cast, root: Client) -> None:
    today = timezone.now().astimezone(UTC).date()
    day_sum(cast, today, runs=9, failed=9)
    day_sum(cast, today, runs=100, failed=24, rival=True)
    assert not [one for one in root.get("/admin/").context["needs"] if "fail" in one["sentence"]]

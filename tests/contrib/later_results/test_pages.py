"""The page of calls that wait for results from outside."""

from __future__ import annotations

import pytest
from django.test import Client

from assistant.models import AuditEntry, Job, Run, ToolCall
from tests.base import Cast
from tests.contrib.later_results.test_elsewhere import waiting
from tests.contrib.panel.conftest import signed_in

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/admin/assistant_later_results/pendingcall/"


def test_the_admin_lists_what_waits_and_stops_it(cast: Cast, amys: Client) -> None:
    row = waiting(cast)
    assert "the bank" in amys.get(PAGE).content.decode()
    assert "ask_bank" in amys.get(f"{PAGE}{row.pk}/change/").content.decode()
    amys.post(PAGE, {"action": "stop", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.state == "cancelled"
    assert (Run.objects.get().status, ToolCall.objects.get().status) == ("cancelled", "cancelled")
    assert AuditEntry.objects.get(action="pending.stop").actor == cast.amy


def test_admins_of_another_tenant_see_nothing(cast: Cast) -> None:
    row, greta = waiting(cast), signed_in(cast.greta)
    assert "the bank" not in greta.get(PAGE).content.decode()
    assert greta.get(f"{PAGE}{row.pk}/change/").status_code in (302, 404)
    greta.post(PAGE, {"action": "stop", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.state == "waiting"


def test_the_page_says_why_a_run_could_not_go_on(cast: Cast, amys: Client) -> None:
    row = waiting(cast)
    Job.objects.create(
        tenant=cast.acme,
        name="pending.continue",
        key=str(row.run_id),
        due_at=row.created_at,
        state="failed",
        problem="No access",
    )
    assert "No access" in amys.get(PAGE).content.decode()

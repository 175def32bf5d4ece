"""A tenant's page shows what was used of its limits, also right after a limit was changed."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from assistant.models import QuotaUse, TenantLimits, UsageEntry
from assistant.services.limits.quota_ledger import reset_use
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.run_input import RunInput, TextMessage
from assistant.services.tenancy.members import find_member
from assistant.services.tenancy.quotas import QuotaReached
from tests.base import Cast
from tests.contrib.panel.conftest import say_something


def spend(cast: Cast, cost: int) -> None:
    """Let Alice spend `cost` millionths, and set limits for Acme and each of its members."""
    say_something(cast)
    UsageEntry.objects.update(cost=cost)
    limits = {"tenant_cost_per_month": Decimal(10), "member_cost_per_month": Decimal(20)}
    TenantLimits.objects.create(tenant=cast.acme, **limits)


def test_use_is_shown_after_a_change_of_limits(root: Client, cast: Cast) -> None:
    spend(cast, 11_000_000)
    reset_use(tenant_id=cast.acme.pk)
    page = root.get(f"/admin/assistant/tenant/{cast.acme.pk}/spend/").content.decode()
    assert "11.00 of USD 10.00" in page
    assert "11.00 of USD 20.00" in page
    assert not QuotaUse.objects.exists()


def test_use_is_shown_while_runs_are_refused(root: Client, cast: Cast) -> None:
    """A refusal rolls back the counters that were recomputed for it."""
    spend(cast, 11_000_000)
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    given = RunInput(uuid.uuid4(), str(uuid.uuid4()), TextMessage(str(uuid.uuid4()), "Hello"))
    for _ in range(2):
        reset_use(tenant_id=cast.acme.pk)
        with pytest.raises(QuotaReached, match="10"):
            open_run(member=member, assistant_slug="support", given=given, owner="here")
        assert not QuotaUse.objects.exists()
        page = root.get(f"/admin/assistant/tenant/{cast.acme.pk}/spend/").content.decode()
        assert "11.00 of USD 10.00" in page
        assert "11.00 of USD 20.00" in page


def test_a_members_use_is_shown_after_a_change_of_limits(root: Client, cast: Cast) -> None:
    spend(cast, 3_000_000)
    membership = cast.acme.memberships.get(user=cast.alice)
    page = root.get(f"/admin/assistant/membership/{membership.pk}/change/").content.decode()
    assert "3.00 of USD 20.00" in page


def test_the_form_says_what_holds_where_a_field_is_empty_and_what_is_used_now(
    root: Client, cast: Cast, settings: Any
) -> None:
    settings.ASSISTANT_TENANT_LIMITS = {"messages_per_day": 1500, "runs": 100}
    settings.ASSISTANT_END_USER_LIMITS = {}
    spend(cast, 3_000_000)
    for path in (f"/admin/assistant/tenant/{cast.acme.pk}/spend/", f"/admin/spend/?tenant={cast.acme.pk}"):
        fields = root.get(path).context["form"].fields
        shown = {name: field.widget.attrs.get("placeholder") for name, field in fields.items()}
        assert (shown["tenant_messages_per_day"], shown["tenant_runs"]) == ("1,500", "100")
        assert (shown["tenant_cost_per_day"], shown["end_user_runs"]) == ("no limit", "as a member")
        assert fields["tenant_cost_per_month"].help_text == "USD 3.00 of USD 10.00 used now"
        assert fields["tenant_messages_per_day"].help_text == "1 of 1,500 used now"

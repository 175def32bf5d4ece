"""Every amount of the panel has its currency: in tables, files, charts and limits."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.insights.admin.quality_page import shown_value
from assistant.contrib.insights.services.measures import BY_SLUG
from assistant.models import Membership, TenantLimits, UsageEntry
from tests.base import Cast
from tests.contrib.insights.rows import day_sum
from tests.contrib.panel.conftest import say_something

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def spent(cast: Cast, settings: Any) -> None:
    settings.ASSISTANT_CURRENCY = "EUR"
    TenantLimits.objects.create(tenant=cast.acme, tenant_cost_per_month=10)
    run = say_something(cast)
    UsageEntry.objects.create(
        tenant=cast.acme, user=cast.alice, assistant=cast.support, run=run, model="m", cost=2_500_000
    )
    day_sum(cast, timezone.now().astimezone(UTC).date(), runs=10, answers=10, cost=5_000_000)


def test_a_members_page_and_its_limits(amys: Client, cast: Cast) -> None:
    member = Membership.objects.get(tenant=cast.acme, user=cast.alice)
    page = amys.get(f"/admin/assistant/membership/{member.pk}/change/").content.decode()
    assert page.count("EUR 2.50") >= 3
    assert "EUR 2.50 of EUR 10.00" in page


def test_charts_of_cost_say_it_at_their_axis_and_on_hover(amys: Client, cast: Cast) -> None:
    for address in ("/admin/spend/", "/admin/assistant_insights/daysum/?measure=cost"):
        page = amys.get(address).content.decode()
        chart = page[page.index('class="chart') :].partition("</svg>")[0]
        assert ">EUR</text>" in chart
        assert ": EUR " in chart
    page = amys.get("/admin/assistant_insights/daysum/?measure=failed").content.decode()
    assert ">EUR</text>" not in page


def test_files_say_it_in_the_head_of_the_column(amys: Client, root: Client) -> None:
    for client, address in (
        (root, "/admin/days.csv"),
        (amys, "/admin/spend.csv?by=tenant"),
        (amys, "/admin/assistant_insights/daysum/quality.csv"),
    ):
        head = client.get(address).content.decode("utf-8-sig").splitlines()[0]
        assert " (EUR)" in head, address


def test_the_cost_of_a_run_and_the_filter_of_conversations(amys: Client) -> None:
    assert shown_value(BY_SLUG["cost"], 0.1234) == "EUR 0.1234"
    assert "Above EUR 1.00" in amys.get("/admin/assistant/conversation/").content.decode()

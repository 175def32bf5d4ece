"""The page of quality: what it shows, to whom, and that its cost does not grow with runs."""

from __future__ import annotations

from datetime import UTC, date, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.models import AuditEntry, CustomRole, Membership
from tests.base import Cast
from tests.contrib.insights.rows import day_sum, ended_run
from tests.contrib.panel.conftest import signed_in
from tests.factories import make_member

pytestmark = pytest.mark.django_db
PAGE = "/admin/assistant_insights/daysum/"


def today() -> date:
    return timezone.now().astimezone(UTC).date()


def fill(cast: Cast) -> None:
    for number in range(60):
        day = today() - timedelta(days=number)
        day_sum(cast, day, runs=10, answers=9, thumbs_down=1 if number < 30 else 0, whole_ms=18_000)
        day_sum(cast, day, runs=5, tool="refund", calls=7, failed_calls=2)
        day_sum(cast, day, runs=20, answers=20, rival=True)


def test_figures_are_of_the_period_and_of_the_one_before(cast: Cast, amys: Client) -> None:
    fill(cast)
    page = amys.get(PAGE, {"days": "30"})
    figures = {str(one["name"]): one for one in page.context["figures"]}
    assert (figures["Disliked"]["value"], figures["Disliked"]["earlier"]) == ("10.0 %", "0.0 %")
    assert figures["Disliked"]["is_worse"]
    assert figures["Runs"]["value"] == "300"
    assert figures["Whole answer"]["value"] == "2.00 s"


def test_the_line_has_a_value_for_each_day_and_marks_of_changes(cast: Cast, amys: Client) -> None:
    fill(cast)
    AuditEntry.objects.create(tenant=cast.acme, actor=cast.amy, action="prompt.publish", target="support v2")
    AuditEntry.objects.create(tenant=cast.globex, actor=cast.root, action="prompt.publish", target="rival v9")
    AuditEntry.objects.create(tenant=cast.acme, actor=cast.amy, action="signin.success", target="amy")
    page = amys.get(PAGE)
    html = page.content.decode()
    assert html.count('class="chart-day" tabindex="0"') == 30
    assert html.count('class="chart-change"') == 1
    assert "10.0 % of 10 runs" in html
    assert [change["target"] for change in page.context["changes"]] == ["support v2"]
    assert "<script" not in html.partition("quality-figures")[2].partition("</main>")[0]


@pytest.mark.parametrize(("by", "name"), [("assistant", "Support"), ("prompt", "version 1"), ("tool", "refund")])
def test_tables_lead_to_narrower_pages(cast: Cast, amys: Client, by: str, name: str) -> None:
    fill(cast)
    (row,) = amys.get(PAGE, {"by": by}).context["rows"]
    assert row["name"] == name
    narrower = amys.get(f"{PAGE}{row['url']}")
    assert narrower.context["narrowed"]
    assert narrower.context["has_runs"]


def test_operators_see_all_tenants_and_each_tenants_tab(cast: Cast, root: Client) -> None:
    fill(cast)
    rows = root.get(PAGE).context["rows"]
    assert [row["name"] for row in rows] == ["Globex", "Acme"]
    tab = root.get(rows[1]["url"])
    assert [row["name"] for row in tab.context["rows"]] == ["Support"]
    csv = root.get("/admin/assistant_insights/daysum/quality.csv", {"assistant": cast.support.pk}).content.decode()
    assert len(csv.strip().splitlines()) == 31


def test_others_see_nothing_of_a_tenant(cast: Cast, amys: Client) -> None:
    fill(cast)
    assert amys.get(PAGE, {"assistant": cast.rival_support.pk}).status_code == 404
    assert amys.get(f"/admin/assistant/tenant/{cast.globex.pk}/quality/").status_code == 404
    assert "Globex" not in amys.get(PAGE, {"by": "tenant"}).content.decode()
    assert Client().get(PAGE).status_code == 302


def test_a_role_that_may_write_prompts_sees_the_page(cast: Cast) -> None:
    fill(cast)
    writer = make_member(cast.acme, "wim", is_staff=True)
    assert signed_in(writer).get(PAGE).status_code == 403
    role = CustomRole.objects.create(tenant=cast.acme, name="Writers", prompts=True)
    Membership.objects.get(user=writer).custom_roles.add(role)
    assert signed_in(writer).get(PAGE).context["rows"][0]["name"] == "Support"


def test_an_empty_page_says_why(cast: Cast, amys: Client) -> None:
    assert "Nothing is summed" in amys.get(PAGE).content.decode()
    assert (
        amys.get(PAGE, {"days": "x", "prompt": "-1", "measure": "no", "by": "no", "model": "\x00"}).status_code == 200
    )


def test_its_queries_are_few_and_read_no_run(cast: Cast, amys: Client) -> None:
    fill(cast)
    amys.get(PAGE)
    with CaptureQueriesContext(
        connection,
    ) as few:
        amys.get(PAGE)
    for _ in range(30):
        ended_run(cast, rating=-1, tools=("refund",))
    with CaptureQueriesContext(connection) as many:
        amys.get(PAGE)
    assert len(many) == len(few)
    read = [
        query["sql"]
        for query in many
        if any(
            f'"assistant_{name}"' in query["sql"] for name in ("run", "message", "toolcall", "feedback", "usageentry")
        )
    ]
    assert read == []

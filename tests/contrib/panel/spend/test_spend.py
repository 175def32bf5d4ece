"""The page of spend: each figure is a sum of usage rows, of the tenants that the reader may see."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.panel.reports.months import Month
from assistant.contrib.panel.reports.spend import SpendScope, forecast, spend_table, spend_total
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.models import Run, TenantLimits, ToolCall, UsageEntry
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.contrib.panel.home.test_frame import pick
from tests.contrib.panel.tenants.test_custom_roles import holder
from tests.factories import make_assistant, make_conversation, make_member, make_run, make_tenant

ALL = TenantFilter(None)
TOOLS = ("refund", "find_orders")
MONTH = Month.of(datetime(2026, 3, 1, tzinfo=UTC))


def use(
    run: Run, *, at: datetime, cost: int = 1_500_000, model: str = "m", tokens: int = 10, purpose: str = ""
) -> UsageEntry:
    entry = UsageEntry.objects.create(
        tenant_id=run.tenant_id, user_id=run.user_id, assistant_id=run.assistant_id, run=run, provider="P", model=model,
        input_tokens=tokens, output_tokens=1, cost=cost, purpose=purpose,
    )  # fmt: skip
    UsageEntry.objects.filter(pk=entry.pk).update(created_at=at)
    return entry


def call(run: Run, name: str) -> None:
    ToolCall.objects.create(tenant_id=run.tenant_id, run=run, call_id=f"c{ToolCall.objects.count()}", name=name)


@pytest.fixture
def month(cast: Cast) -> Iterator[Month]:
    """March of 2026, with use by chance in it and around it, by both tenants."""
    chance = random.Random(3)
    for _ in range(40):
        user, assistant = chance.choice(((cast.alice, cast.support), (cast.mallory, cast.rival_support)))
        run = make_run(make_conversation(user, assistant))
        for _ in range(chance.randrange(4)):
            call(run, chance.choice(TOOLS))
        at = MONTH.begin + timedelta(hours=chance.randrange(-72, 31 * 24 + 72))
        for model in chance.sample(("small", "large"), chance.randint(1, 2)):
            purpose = chance.choice(("", "title"))
            tokens = chance.randrange(5000)
            use(run, at=at, cost=chance.randrange(10_000_000), model=model, tokens=tokens, purpose=purpose)
    yield MONTH


KEYS: dict[str, Callable[[UsageEntry], list[Any]]] = {
    "tenant": lambda one: [one.tenant_id],
    "person": lambda one: [one.user_id],
    "assistant": lambda one: [one.assistant_id],
    "model": lambda one: [(one.provider, one.model)],
    "purpose": lambda one: [one.purpose],
    "day": lambda one: [one.created_at.astimezone(UTC).date()],
    "tool": lambda one: sorted({call.name for call in one.run.tool_calls.all()}) or [""],  # type: ignore[union-attr]
}


@pytest.mark.parametrize("by", KEYS)
def test_each_line_is_the_sum_of_its_usage_rows(by: Any, month: Month) -> None:
    expected: dict[Any, list[Any]] = defaultdict(lambda: [0, 0, set()])
    for entry in UsageEntry.objects.all():
        if (entry.created_at.astimezone(UTC).year, entry.created_at.astimezone(UTC).month) == (2026, 3):
            for key in KEYS[by](entry):
                expected[key][0] += entry.cost
                expected[key][1] += entry.input_tokens
                expected[key][2].add(entry.run_id)
    scope = SpendScope(month, ALL)
    found = spend_table(scope, by, total=spend_total(scope)).lines
    lines = {line.key: (line.millionths, line.input_tokens, line.runs) for line in found if line.runs}
    assert lines == {key: (cost, tokens, len(runs)) for key, (cost, tokens, runs) in expected.items()}
    assert len(lines) > 1


def test_the_total_and_the_lines_not_listed_add_up(month: Month) -> None:
    scope = SpendScope(month, ALL)
    total = spend_total(scope)
    inside = UsageEntry.objects.filter(created_at__gte=month.begin, created_at__lt=datetime(2026, 4, 1, tzinfo=UTC))
    assert total.millionths == sum(entry.cost for entry in inside) > 0
    table = spend_table(scope, "model", total=total, listed=1)
    assert table.others is not None
    assert table.lines[0].millionths + table.others.millionths == total.millionths
    assert spend_table(scope, "model", total=total, listed=2).others is None


def test_tokens_without_a_price_are_counted(root: Client, cast: Cast) -> None:
    run = make_run(make_conversation(cast.alice, cast.support))
    use(run, at=MONTH.begin, cost=0, tokens=4_000)
    use(run, at=MONTH.begin, cost=5, tokens=100)
    page: Any = root.get("/admin/spend/?month=2026-03")
    assert page.context["total"].unpriced_tokens == 4_001
    assert "4,001 tokens cost nothing" in page.content.decode()


@pytest.mark.parametrize("by", KEYS)
def test_a_line_leads_to_a_page_with_its_sum(by: str, root: Client, month: Month) -> None:
    page: Any = root.get("/admin/spend/", {"month": "2026-03", "by": by})
    for row in page.context["rows"]:
        narrowed: Any = root.get(f"/admin/spend/?{row['query']}")
        assert narrowed.context["total"].millionths == row["line"].millionths, row["name"]
        assert narrowed.context["narrowings"]


@pytest.mark.parametrize("by", KEYS)
def test_the_page_and_the_file_have_the_same_sums(by: str, root: Client, month: Month) -> None:
    page: Any = root.get("/admin/spend/", {"month": "2026-03", "by": by})
    text = root.get("/admin/spend.csv", {"month": "2026-03", "by": by}).content.decode("utf-8-sig")
    costs = [row[-1] for row in csv.reader(text.splitlines())][1:]
    assert costs == [f"{row['line'].cost:.6f}" for row in page.context["rows"]]
    assert page.content.decode().count('class="chart-day"') == 31


def test_an_admin_reads_the_spend_of_their_tenant_only(amys: Client, cast: Cast, month: Month) -> None:
    own = sum(UsageEntry.objects.filter(tenant=cast.acme, created_at__month=3).values_list("cost", flat=True))
    for by in KEYS:
        page: Any = amys.get("/admin/spend/", {"month": "2026-03", "by": by})
        assert page.context["total"].millionths == own
        html = page.content.decode()
        assert not any(name in html for name in ("Globex", "globex", "mallory"))
    foreign = f"/admin/spend/?month=2026-03&tenant={cast.globex.pk}"
    assert amys.get(foreign).status_code == 404
    assert amys.get(foreign.replace("spend/", "spend.csv")).status_code == 404
    for name, pk in (("person", cast.mallory.pk), ("assistant", cast.rival_support.pk)):
        page = amys.get(f"/admin/spend/?month=2026-03&{name}={pk}")
        assert page.context["total"].millionths == 0
        assert not any(name in page.content.decode() for name in ("mallory", "globex"))


def test_the_page_is_for_those_who_may_see_the_spend(cast: Cast) -> None:
    for client, status in (
        (holder(cast, "spend"), 200),
        (holder(cast, "keys"), 404),
        (signed_in(cast.alice), 302),
        (Client(), 302),
    ):
        assert client.get("/admin/spend/").status_code == status
        assert client.get("/admin/spend.csv").status_code == status


def test_the_picked_tenant_narrows_the_page(root: Client, cast: Cast, month: Month) -> None:
    whole: Any = root.get("/admin/spend/?month=2026-03")
    pick(root, "globex")
    picked: Any = root.get("/admin/spend/?month=2026-03")
    own = sum(UsageEntry.objects.filter(tenant=cast.globex, created_at__month=3).values_list("cost", flat=True))
    assert whole.context["total"].millionths > picked.context["total"].millionths == own


@pytest.mark.parametrize(
    "query",
    [
        "tenant=x",
        "tenant=9999999999999999999",
        "person=x",
        "assistant=1.5",
        "day=9999-12-31",
        "month=2026-03&day=2026-04-01",
        "tenant=%00",
        "day=",
    ],
)
def test_nonsense_is_not_found(query: str, root: Client) -> None:
    assert root.get(f"/admin/spend/?{query}").status_code == 404


@pytest.mark.parametrize(
    "query",
    ["month=2026-13", "month=x", "month=2000-00", "month=0000-01", "by=x", "tool=%00", "model=x", "month=9999-01"],
)
def test_other_values_show_the_running_month(query: str, root: Client) -> None:
    page: Any = root.get(f"/admin/spend/?{query}")
    assert page.status_code == 200
    assert page.context["asked"].scope.month == Month.of(timezone.now())


def test_the_share_of_a_tenants_limit_is_shown(root: Client, cast: Cast) -> None:
    TenantLimits.objects.create(tenant=cast.acme, tenant_cost_per_month=2)
    use(make_run(make_conversation(cast.alice, cast.support)), at=timezone.now())
    page: Any = root.get("/admin/spend/?by=tenant")
    assert "1.50 of USD 2.00" in page.content.decode()
    assert "75 %" in page.content.decode()
    narrowed: Any = root.get(f"/admin/spend/?tenant={cast.acme.pk}")
    assert narrowed.context["cost"].limit == "USD 2.00"


@pytest.mark.parametrize(
    ("first_use", "expected"),
    [
        # 14 in 10 days, 14 of them in the last 7: two a day for the 21 days that are left.
        (datetime(2026, 3, 3, 12, 30, tzinfo=UTC), 14 + 2 * 21),
        # Since yesterday: 14 in two days.
        (datetime(2026, 3, 9, 0, tzinfo=UTC), 14 + 7 * 21),
        # Since an hour ago, which says little: as in one day.
        (datetime(2026, 3, 10, 23, tzinfo=UTC), 14 + 14 * 21),
    ],
)
def test_the_forecast_goes_on_as_the_last_days(first_use: datetime, expected: float, cast: Cast) -> None:
    now = datetime(2026, 3, 11, tzinfo=UTC)
    run = make_run(make_conversation(cast.alice, cast.support))
    use(run, at=max(first_use, now - timedelta(days=7)), cost=4_000_000)
    use(run, at=now - timedelta(minutes=5), cost=10_000_000)
    scope = SpendScope(Month.of(now), ALL)
    assert forecast(scope, spent=14.0, now=now) == pytest.approx(expected)
    assert forecast(SpendScope(Month.of(now).previous, ALL), spent=14.0, now=now) is None
    assert forecast(scope, spent=0.0, now=now + timedelta(days=9)) == 0.0


def test_the_page_makes_no_more_queries_for_many_rows(root: Client, cast: Cast) -> None:
    def fill(number: int) -> list[int]:
        for _ in range(number):
            tenant = make_tenant()
            TenantLimits.objects.create(tenant=tenant, tenant_cost_per_month=1)
            run = make_run(make_conversation(make_member(tenant), make_assistant(tenant)))
            call(run, f"tool_{run.pk}")
            use(run, at=timezone.now(), model=f"model-{run.pk}")
        counts = []
        for by in KEYS:
            with CaptureQueriesContext(connection) as queries:
                root.get("/admin/spend/", {"by": by})
            counts.append(len(queries))
        return counts

    few = fill(2)
    assert fill(6) == few
    assert max(few) <= 21

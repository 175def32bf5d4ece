"""Quotas of tenants and members: runs above a quota are refused, with the time when it resets."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.core.toolcalls.protocols import Admission, PlannedCall
from assistant.core.values.messages import Message, ToolCall, Usage
from assistant.core.values.quota_kinds import COUNTED, NAMES, Windows
from assistant.models import Provider, QuotaUse, Run, TenantLimits, UsageEntry
from assistant.models.limits import OF_MEMBER, OF_TENANT
from assistant.services.limits.quota_ledger import COLUMNS, current_use, recounted, reset_use
from assistant.services.limits.usage import add_usage
from assistant.services.runs.closing import Ending, close_run
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.opening.run_setup import OpenedRun
from assistant.services.runs.run_input import RunInput, TextMessage
from assistant.services.tenancy.members import Member, find_member
from assistant.services.tenancy.quotas import QuotaReached, quotas_of
from assistant.services.toolcalls.run_journal import record_start
from assistant.toolkit import tool
from tests.base import Cast
from tests.factories import switch_tool

FINISHED = Ending("finished", {"type": "RUN_FINISHED"})


def member(user_id: int) -> Member:
    found = find_member(user_id=user_id, tenant_slug="acme")
    assert found is not None
    return found


def limit(cast: Cast, **limits: object) -> None:
    TenantLimits.objects.update_or_create(tenant=cast.acme, defaults=limits)
    reset_use(tenant_id=cast.acme.pk)


def begin(who: int) -> OpenedRun:
    given = RunInput(uuid.uuid4(), str(uuid.uuid4()), TextMessage(str(uuid.uuid4()), "Hello"))
    return open_run(member=member(who), assistant_slug="support", given=given, owner="here")


def end(opened: OpenedRun, tokens: int = 0, cost: int = 0) -> None:
    answer = Message("assistant", "Hi", id=str(uuid.uuid4()))
    usage = {("provider", "m"): Usage(tokens, 0, cost=cost)} if tokens or cost else {}
    close_run(key=opened.key, messages=[answer], usage=usage, ending=FINISHED, last_seq=3)


def refused(who: int) -> QuotaReached:
    with pytest.raises(QuotaReached) as caught:
        begin(who)
    return caught.value


def move_windows_back(**columns: timedelta) -> None:
    """Let the current windows have begun earlier by this time."""
    for name, by in columns.items():
        for use in QuotaUse.objects.all():
            setattr(use, name, getattr(use, name) - by)
            use.save()


@pytest.mark.parametrize("scope", ["tenant", "member"])
@pytest.mark.parametrize(("window", "long"), [("minute", timedelta(minutes=1)), ("day", timedelta(days=1))])
def test_messages_are_counted(cast: Cast, scope: str, window: str, long: timedelta) -> None:
    limit(cast, **{f"{scope}_messages_per_{window}": 2})
    for _ in range(2):
        begin(cast.alice.pk)
    other = cast.amy.pk if scope == "tenant" else cast.alice.pk
    reached = refused(other)
    assert (reached.code, reached.scope, reached.quota, reached.limit) == (
        "quota_exceeded",
        scope,
        f"messages_per_{window}",
        2,
    )
    assert reached.resets_at is not None
    assert timedelta(0) < reached.resets_at - timezone.now() <= long
    assert f"{reached.resets_at:%Y-%m-%dT%H:%M:%SZ}" in str(reached)
    if scope == "member":
        begin(cast.amy.pk)
    move_windows_back(**{f"{window}_at": long})
    begin(other)


def test_a_refused_run_is_not_stored_or_counted(cast: Cast) -> None:
    limit(cast, member_messages_per_day=1, tenant_messages_per_day=5)
    begin(cast.alice.pk)
    for _ in range(3):
        refused(cast.alice.pk)
    assert Run.objects.count() == 1
    assert set(QuotaUse.objects.values_list("day_messages", flat=True)) == {1}


@pytest.mark.parametrize("window", ["day", "month"])
@pytest.mark.parametrize("scope", ["tenant", "member"])
def test_tokens_are_counted_when_a_run_has_ended(cast: Cast, scope: str, window: str) -> None:
    limit(cast, **{f"{scope}_tokens_per_{window}": 1_000})
    end(begin(cast.alice.pk), tokens=999)
    end(begin(cast.alice.pk), tokens=1)
    reached = refused(cast.alice.pk)
    assert reached.quota == f"tokens_per_{window}"
    windows = Windows.at(timezone.now())
    assert reached.resets_at == windows.end("day" if window == "day" else "month")


@pytest.mark.parametrize("window", ["day", "month"])
@pytest.mark.parametrize("scope", ["tenant", "member"])
def test_cost_is_counted(cast: Cast, scope: str, window: str) -> None:
    limit(cast, **{f"{scope}_cost_per_{window}": Decimal("0.50")})
    end(begin(cast.alice.pk), tokens=1, cost=499_999)
    end(begin(cast.alice.pk), tokens=1, cost=1)
    reached = refused(cast.alice.pk)
    assert reached.quota == f"cost_per_{window}"
    assert "0.50 of cost" in str(reached)


def test_a_running_run_reserves_its_expected_use(cast: Cast) -> None:
    limit(cast, tenant_tokens_per_day=1_500)
    first, second = begin(cast.alice.pk), begin(cast.alice.pk)
    assert refused(cast.alice.pk).quota == "tokens_per_day"
    end(first, tokens=10)
    end(second, tokens=10)
    assert QuotaUse.objects.get().day_tokens == 20
    begin(cast.alice.pk)


def test_a_run_gets_the_rest_of_a_quota_as_its_allowance(cast: Cast) -> None:
    limit(cast, tenant_tokens_per_day=1_500)
    end(begin(cast.alice.pk), tokens=1_000)
    setup = begin(cast.alice.pk).setup
    assert setup is not None
    assert [(one.tokens, one.cost) for one in setup.allowances] == [(500, 0)]


def test_summaries_count_towards_quotas(cast: Cast) -> None:
    limit(cast, tenant_tokens_per_day=10_000)
    opened = begin(cast.alice.pk)
    end(opened, tokens=10)
    add_usage(key=opened.key, usage={("provider", "m"): Usage(5)})
    assert QuotaUse.objects.get().day_tokens == 15


def test_limits_set_later_count_earlier_use(cast: Cast) -> None:
    end(begin(cast.alice.pk), tokens=700)
    end(begin(cast.alice.pk), tokens=300)
    limit(cast, tenant_tokens_per_month=1_000)
    assert refused(cast.alice.pk).quota == "tokens_per_month"
    limit(cast, tenant_tokens_per_month=0, member_messages_per_day=2)
    assert refused(cast.alice.pk).quota == "messages_per_day"


def planned(count: int) -> list[PlannedCall]:
    @tool
    def nothing() -> str:
        """Do nothing."""
        return ""

    calls = [ToolCall(f"call_{uuid.uuid4().hex}", "nothing", "{}") for _ in range(count)]
    return [PlannedCall(call, nothing, Admission(nothing), "{}") for call in calls]


@pytest.mark.parametrize("scope", ["tenant", "member"])
def test_tool_calls_above_the_quota_are_not_run(cast: Cast, scope: str) -> None:
    limit(cast, **{f"{scope}_tool_calls_per_day": 3})
    opened, quotas = begin(cast.alice.pk), quotas_of(cast.acme)
    rows, known = record_start(key=opened.key, batch=planned(2), quotas=quotas)
    assert (len(rows), known) == (2, {})
    rows, known = record_start(key=opened.key, batch=planned(3), quotas=quotas)
    assert (len(rows), len(known)) == (1, 2)
    outcome = next(iter(known.values()))
    assert outcome.status == "refused"
    assert "limit of 3 tool calls a day" in outcome.quota


def test_tool_calls_are_counted_from_zero_in_a_new_month(cast: Cast) -> None:
    limit(cast, tenant_tool_calls_per_day=3, tenant_tokens_per_month=10_000)
    end(begin(cast.alice.pk), tokens=9_000)
    opened, quotas = begin(cast.alice.pk), quotas_of(cast.acme)
    QuotaUse.objects.update(month_at=Windows.at(timezone.now()).month - timedelta(days=31))
    record_start(key=opened.key, batch=planned(1), quotas=quotas)
    assert QuotaUse.objects.get().month_tokens == 0


def test_every_limit_counts_what_is_used_as_it_is_counted_again(cast: Cast) -> None:
    """A new kind of limit that nothing counts fails here."""
    limit(cast, **{f"{scope}_{name}": 10_000 for scope in ("tenant", "member") for name in COUNTED})
    opened = begin(cast.alice.pk)
    record_start(key=opened.key, batch=planned(2), quotas=quotas_of(cast.acme))
    end(opened, tokens=100, cost=10)
    for use in QuotaUse.objects.all():
        again = recounted(cast.acme.pk, use.user_id, timezone.now())
        counted = {column: getattr(use, column) for column, _ in COLUMNS.values()}
        assert counted == {column: getattr(again, column) for column in counted}
        assert all(counted.values()), counted


def test_the_deployments_limits_apply_to_tenants_without_their_own(cast: Cast, settings: object) -> None:
    settings.ASSISTANT_MEMBER_LIMITS = {"messages_per_day": 1, "cost_per_day": 0.25}  # type: ignore[attr-defined]
    begin(cast.alice.pk)
    assert refused(cast.alice.pk).limit == 1
    assert quotas_of(cast.acme).member.cost_per_day == 250_000
    limit(cast, member_messages_per_day=0)
    begin(cast.alice.pk)


def test_every_limit_can_be_set_by_the_environment() -> None:
    assert {f"tenant_{name}" for name in (*NAMES, "turns")} == set(OF_TENANT)
    assert {f"member_{name}" for name in NAMES} == set(OF_MEMBER)


def test_the_end_of_a_month_is_the_first_of_the_next() -> None:
    for day in (1, 15, 31):
        assert Windows.at(datetime(2026, 1, day, 23, 59, tzinfo=UTC)).end("month") == datetime(2026, 2, 1, tzinfo=UTC)


@pytest.mark.parametrize(("limited", "queries"), [(False, 0), (True, 5)])
def test_only_limits_cost_queries(cast: Cast, limited: bool, queries: int) -> None:
    switch_tool(cast.acme, "current_time")
    if limited:
        limit(cast, tenant_tokens_per_day=10**9, member_messages_per_day=10**9)
    end(begin(cast.alice.pk), tokens=1)
    with CaptureQueriesContext(connection) as asked:
        end(begin(cast.alice.pk), tokens=1)
    assert sum("quotause" in query["sql"] for query in asked) == queries


@pytest.mark.django_db(transaction=True)
def test_exactly_the_quota_of_simultaneous_runs_is_admitted(cast: Cast) -> None:
    limit(cast, tenant_messages_per_day=7, member_messages_per_day=20)

    def attempt(number: int) -> bool:
        try:
            begin(cast.alice.pk if number % 2 else cast.amy.pk)
        except QuotaReached:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(40))) == 7
    assert Run.objects.count() == 7
    assert QuotaUse.objects.get(user=None).day_messages == 7


def test_a_price_is_found_by_the_beginning_of_a_models_name(cast: Cast) -> None:
    prices = {"gpt": {"input": 1, "output": 1}, "gpt-4.1": {"input": 2, "output": 8, "cached_input": 0.5}}
    row = Provider.objects.create(
        tenant=cast.acme, name="P", base_url="https://x.example", default_model="gpt-4.1", prices=prices
    )
    cast.support.provider = row
    cast.support.save()
    setup = begin(cast.alice.pk).setup
    assert setup is not None
    spent = setup.provider.prices.priced(Usage(1_000, 100, cached_input_tokens=200), "gpt-4.1-2025-04-14")
    assert spent.cost == 800 * 2 + 100 + 100 * 8
    assert setup.provider.prices.priced(Usage(1_000), "another").cost == 0
    # The name that the provider returned is looked up first, then the name in the request.
    assert setup.provider.prices.priced(Usage(1_000), "another", "gpt-4.1").cost == 2_000
    assert setup.provider.prices.priced(Usage(1_000), "gpt-3", "gpt-4.1").cost == 1_000
    assert not UsageEntry.objects.exists()


def test_a_run_that_waited_over_midnight_does_not_restore_yesterdays_window() -> None:
    midnight = datetime(2026, 11, 24, tzinfo=UTC)
    windows = Windows.at(midnight)
    use = QuotaUse(day_messages=3, minute_at=windows.minute, day_at=windows.day, month_at=windows.month)
    assert current_use(use, midnight - timedelta(seconds=1)).day_messages == 3
    assert (use.day_at, current_use(use, midnight + timedelta(days=1)).day_messages) == (windows.day, 0)

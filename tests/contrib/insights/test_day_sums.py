"""The sums of a day: what they count, and that making them again changes nothing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from assistant.contrib.insights.models import DaySum, SummedTenant
from assistant.contrib.insights.services.day_sums import sum_day
from assistant.contrib.insights.services.summing import claim_tenants, due_days
from assistant.models import Conversation, Feedback, Message, Run, ToolCall
from assistant.services.privacy.retention import apply_retention
from tests.base import Cast
from tests.contrib.insights.rows import day_sum, ended_run

pytestmark = pytest.mark.django_db


def today() -> date:
    return timezone.now().astimezone(UTC).date()


def summed(cast: Cast, tool: str = "") -> DaySum:
    sum_day(tenant_id=cast.acme.pk, day=today())
    return DaySum.objects.get(tenant=cast.acme, tool=tool)


def test_runs_are_counted_by_how_they_ended(cast: Cast) -> None:
    ended_run(cast, rating=1)
    ended_run(cast, rating=-1)
    ended_run(cast, status=Run.Status.FAILED)
    ended_run(cast, status=Run.Status.INTERRUPTED)
    ended_run(cast, status=Run.Status.CANCELLED)
    ended_run(cast, status=Run.Status.RUNNING, ended_at=None)
    ended_run(cast, is_test=True)
    row = summed(cast)
    assert (row.runs, row.answers, row.failed, row.stopped) == (5, 2, 2, 1)
    assert (row.thumbs_up, row.thumbs_down, row.cost) == (1, 1, 5_000)
    assert (row.first_word_runs, row.first_word_ms) == (2, 1_000)
    assert row.whole_ms == pytest.approx(4_000, abs=500)


def test_a_row_of_a_tool_is_of_the_runs_that_called_it(cast: Cast) -> None:
    ended_run(cast, tools=("get_order", "get_order"), rating=-1)
    run = ended_run(cast, tools=("get_order", "refund"))
    ToolCall.objects.filter(run=run, name="get_order").update(status="error")
    ToolCall.objects.filter(run=run, name="refund").update(status="refused")
    ended_run(cast)
    assert (summed(cast).runs, summed(cast).refused) == (3, 1)
    orders = summed(cast, "get_order")
    assert (orders.runs, orders.calls, orders.failed_calls, orders.thumbs_down) == (2, 3, 1, 1)


def test_cut_answers_and_empty_searches_are_counted(cast: Cast) -> None:
    Message.objects.filter(run=ended_run(cast), role="assistant").update(is_partial=True, cut_reason="length")
    ToolCall.objects.filter(run=ended_run(cast, tools=("search_docs",))).update(result='{"results":[],"note":"No."}')
    ToolCall.objects.filter(run=ended_run(cast, tools=("search_docs",))).update(result='{"results":[{"text":"x"}]}')
    row = summed(cast)
    assert (row.cut, row.nothing_found) == (1, 1)


def test_a_branch_is_a_changed_question_or_another_answer(cast: Cast) -> None:
    edited = ended_run(cast)
    Conversation.objects.filter(pk=edited.conversation_id).update(branches=[[1, 0]])
    again = ended_run(cast)
    Message.objects.filter(run=again, role="user").update(run=None)
    Conversation.objects.filter(pk=again.conversation_id).update(branches=[[2, 1]])
    row = summed(cast)
    assert (row.runs, row.edited, row.asked_again) == (2, 1, 1)


def test_sums_are_by_prompt_version_and_by_the_model_that_answered(cast: Cast) -> None:
    ended_run(cast, fallback_provider="B", fallback_model="b")
    ended_run(cast)
    sum_day(tenant_id=cast.acme.pk, day=today())
    assert set(DaySum.objects.values_list("provider", "model", "runs")) == {("B", "b", 1), ("", "m", 1)}


def test_sums_are_by_the_language_of_the_questions(cast: Cast) -> None:
    german = ended_run(cast)
    Message.objects.filter(run=german, role="user").update(content="Wann ist das Geschäft offen?")
    ended_run(cast)
    other = ended_run(cast, rival=True)
    Message.objects.filter(run=other, role="user").update(content="Où est mon colis et quand arrive-t-il ?")
    sum_day(tenant_id=cast.acme.pk, day=today())
    assert set(DaySum.objects.values_list("language", "runs")) == {("de", 1), ("en", 1)}


def test_making_sums_again_changes_nothing_and_other_tenants_have_their_own(cast: Cast) -> None:
    ended_run(cast)
    ended_run(cast, rival=True)
    assert sum_day(tenant_id=cast.acme.pk, day=today()) == 1
    assert sum_day(tenant_id=cast.acme.pk, day=today()) == 1
    assert DaySum.objects.filter(tenant=cast.acme).count() == 1
    assert not DaySum.objects.filter(tenant=cast.globex).exists()


def test_days_are_read_in_pieces(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(5):
        ended_run(cast, tools=("a",))
    monkeypatch.setattr("assistant.contrib.insights.services.day_sums.CHUNK", 2)
    assert (summed(cast).runs, summed(cast, "a").calls) == (5, 5)


def test_a_tenant_is_claimed_once_and_again_after_ten_minutes(cast: Cast) -> None:
    ended_run(cast)
    now = timezone.now()
    assert claim_tenants(now=now) == [(cast.acme.pk, None)]
    assert claim_tenants(now=now) == []
    assert claim_tenants(now=now + timedelta(minutes=11)) == [(cast.acme.pk, now)]
    assert SummedTenant.objects.get().summed_at == now + timedelta(minutes=11)


def test_late_ratings_have_their_day_made_anew(cast: Cast) -> None:
    noon = datetime(2026, 3, 20, 12, 5, tzinfo=UTC)
    run = ended_run(cast, rating=-1)
    Run.objects.filter(pk=run.pk).update(started_at=noon - timedelta(days=9))
    Feedback.objects.update(created_at=noon - timedelta(minutes=30))
    days = due_days(tenant_id=cast.acme.pk, last=noon - timedelta(minutes=15), now=noon)
    assert days[-1] == (date(2026, 3, 11), True)
    assert [day for day, keeps in days if not keeps] == [date(2026, 3, 18), date(2026, 3, 19), date(2026, 3, 20)]
    soon = due_days(tenant_id=cast.acme.pk, last=noon, now=noon + timedelta(minutes=10))
    assert soon == [(date(2026, 3, 20), False)]


def test_sums_outlive_deleted_conversations_and_end_with_the_audits_period(cast: Cast) -> None:
    ended_run(cast)
    call_command("assistant_sum_days", "acme", verbosity=0)
    Conversation.objects.all().delete()
    call_command("assistant_sum_days", "acme")
    assert DaySum.objects.get(tenant=cast.acme).runs == 1
    call_command("assistant_sum_days", "acme", "--replace")
    assert not DaySum.objects.exists()
    day_sum(cast, today() - timedelta(days=40), runs=1)
    day_sum(cast, today() - timedelta(days=40), runs=1, rival=True)
    from assistant.models import Retention

    Retention.objects.update_or_create(tenant=cast.acme, defaults={"audit": 30})
    apply_retention(tenant=cast.acme)
    assert list(DaySum.objects.values_list("tenant__slug", flat=True)) == ["globex"]

"""What is a case, which questions are alike, when tenants are looked at, and whether a change helped."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from assistant.contrib.improvements.models import Annotation, GroupedTenant, ProblemCase, ProblemGroup
from assistant.contrib.improvements.services import annotations, grouping
from assistant.contrib.improvements.services.annotations import AnnotationRefused, Said, annotate
from assistant.contrib.improvements.services.grouping import due_tenants, group_tenant, group_tenants
from assistant.contrib.improvements.services.groups import draft_against
from assistant.contrib.improvements.services.outcomes import outcome_of
from assistant.contrib.improvements.services.topics import likeness, topic_of
from assistant.contrib.insights.models import DaySum
from assistant.models import Message, Retention, Run
from assistant.services.assistants.prompts import publish_prompt
from assistant.services.privacy.retention import apply_retention
from tests.base import Cast
from tests.contrib.improvements.faults import Maker

pytestmark = pytest.mark.django_db


@pytest.fixture
def maker(cast: Cast) -> Maker:
    return Maker(cast, seed=1, now=timezone.now())


def look(cast: Cast) -> list[tuple[str, str]]:
    while group_tenant(tenant_id=cast.acme.pk, now=timezone.now() + timedelta(minutes=1)):
        pass
    cases = ProblemCase.objects.filter(tenant=cast.acme).order_by("group__signature", "group__subject")
    return list(cases.values_list("group__signature", "group__subject"))


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot provide legal advice.",
        "I am not able to do this.",
        "Es tut mir leid, aber dabei kann ich Ihnen leider nicht helfen.",
        "Lo siento, pero no puedo ayudar.",
        "Je suis désolé, mais je ne peux pas répondre.",
    ],
)
def test_an_answer_that_declines_is_a_refusal(cast: Cast, maker: Maker, answer: str) -> None:
    maker.run("Do my taxes", answer=answer)
    assert look(cast) == [("refusal", "")]


@pytest.mark.parametrize(
    "answer",
    [
        "Sorry for the delay: your order has arrived.",
        "I can help with that.",
        "You cannot return it after a year.",
        "Leider ist der Laden geschlossen.",
    ],
)
def test_an_answer_that_only_regrets_is_none(cast: Cast, maker: Maker, answer: str) -> None:
    maker.run("Where is it?", answer=answer)
    assert look(cast) == []


@pytest.mark.parametrize(
    ("comment", "signature", "subject"),
    [
        ("That is wrong.", "knowledge", "wrong"),
        ("Too long", "style", "long"),
        ("zu kurz", "style", "short"),
        ("rude!", "style", "tone"),
        ("please no tables", "style", "form"),
        ("answer in English", "style", "language"),
        ("", "style", ""),
    ],
)
def test_a_comment_says_what_is_disliked(cast: Cast, maker: Maker, comment: str, signature: str, subject: str) -> None:
    maker.rate(maker.run("Where is it?", days_ago=1), comment)
    assert look(cast) == [(signature, subject)]


def test_a_disliked_answer_with_another_fault_is_a_case_of_that(cast: Cast, maker: Maker) -> None:
    maker.rate(maker.run("Where is it?", ("find", "error", {"error": "Down."}), days_ago=1), "useless")
    assert look(cast) == [("tool_error", "find")]


def test_a_loops_refusals_and_a_runs_limit_are_one_case(cast: Cast, maker: Maker) -> None:
    same = ("find", "refused", {"arguments": "{}", "rule": ""})
    maker.run("Where is it?", *[same] * 5, status=Run.Status.FAILED, error_code="limit_reached")
    maker.run("And that?", status=Run.Status.FAILED, error_code="limit_reached", error_message="20 rounds")
    assert look(cast) == [("cut", "limit"), ("loop", "find")]


def test_tests_and_temporary_conversations_are_left_out(cast: Cast, maker: Maker) -> None:
    failed = ("find", "error", {"error": "Down."})
    maker.run("A test", failed, is_test=True)
    run = maker.run("For once", failed)
    type(run.conversation).objects.filter(pk=run.conversation_id).update(is_temporary=True)
    assert look(cast) == []


@pytest.mark.parametrize(
    ("first", "second", "is_alike"),
    [
        ("May I bring my dog?", "Can I bring my dog?", True),
        ("How do I return a tent?", "Return of a tent, how?", True),
        ("Darf ich meinen Hund mitbringen?", "Kann ich den Hund mitbringen?", True),
        ("May I bring my dog?", "When do you open on Sundays?", False),
        ("How do I return a tent?", "How do I pay an invoice?", False),
        ("", "How do I pay an invoice?", False),
    ],
)
def test_questions_are_alike_by_their_words(first: str, second: str, is_alike: bool) -> None:
    assert (likeness(topic_of(first), [topic_of(second)]) > 0) == is_alike


def test_tenants_are_looked_at_with_new_runs_or_ratings_and_once(cast: Cast, maker: Maker) -> None:
    now = timezone.now()
    assert due_tenants(now=now) == []
    run = maker.run("Where is it?", days_ago=1)
    assert due_tenants(now=now) == [cast.acme.pk]
    assert group_tenants() == 1
    later = now + timedelta(minutes=20)
    assert due_tenants(now=later) == []
    maker.rate(run, "too long")
    assert due_tenants(now=now + timedelta(minutes=1)) == []
    assert due_tenants(now=later) == [cast.acme.pk]
    group_tenant(tenant_id=cast.acme.pk, now=later)
    assert ProblemCase.objects.filter(tenant=cast.acme).count() == 1
    group_tenant(tenant_id=cast.acme.pk, now=later + timedelta(minutes=20))
    assert ProblemCase.objects.filter(tenant=cast.acme).count() == 1


def test_a_run_that_goes_on_is_waited_for(cast: Cast, maker: Maker) -> None:
    failed = ("find", "error", {"error": "Down."})
    active = maker.run("Still?", failed, days_ago=0.02, status=Run.Status.RUNNING, ended_at=None)
    maker.run("Later", failed, days_ago=0.01)
    assert look(cast) == []
    Run.objects.filter(pk=active.pk).update(status=Run.Status.FINISHED, ended_at=F("started_at"))
    assert look(cast) == [("tool_error", "find")] * 2


def test_many_runs_are_read_in_pieces(cast: Cast, maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MAX_RUNS", 2)
    for _ in range(5):
        maker.run("Where is it?", ("find", "error", {"error": "Down."}))
    now = timezone.now() + timedelta(minutes=1)
    assert [group_tenant(tenant_id=cast.acme.pk, now=now) for _ in range(3)] == [2, 2, 1]
    assert GroupedTenant.objects.get(tenant=cast.acme).grouped_to == now - grouping.IN_SIGHT


def test_groups_without_cases_and_too_many_of_them_go(
    cast: Cast, maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "MAX_GROUPS", 1)
    monkeypatch.setattr(grouping, "MAX_CASES", 2)
    for days_ago in (1, 2, 3):
        maker.run("Where is it?", ("find", "error", {"error": "Down."}), days_ago=days_ago)
    maker.run("And this?", ("other", "error", {"error": "Down."}), days_ago=20)
    assert look(cast) == [("tool_error", "find")] * 2
    Run.objects.filter(tenant=cast.acme).delete()
    maker.now += timedelta(minutes=5)
    maker.run("Again?", ("third", "error", {"error": "Down."}), days_ago=0)
    group_tenant(tenant_id=cast.acme.pk, now=timezone.now() + timedelta(hours=1))
    assert [group.subject for group in ProblemGroup.objects.filter(tenant=cast.acme)] == ["third"]


def changed_group(cast: Cast, *, days_ago: int) -> ProblemGroup:
    group = ProblemGroup.objects.create(tenant=cast.acme, assistant=cast.support, signature="cut", subject="length")
    group.changed_at = timezone.now() - timedelta(days=days_ago)
    group.state = "changed"
    group.save()
    return group


def weeks(cast: Cast, group: ProblemGroup, *, before: int, since: int) -> None:
    """Store sums of a hundred runs a day, and so many cases in each of the two weeks."""
    day = group.changed_at.date()  # type: ignore[union-attr]  # set above
    for number in range(-10, 10):
        bad = before if number < 0 else since
        sums: dict[str, Any] = {"runs": 100, "cut": bad}
        DaySum.objects.create(tenant=cast.acme, assistant=cast.support, day=day + timedelta(days=number), **sums)
    maker = Maker(cast, seed=1, now=timezone.now())
    for first, count in ((day - timedelta(days=3), before), (day + timedelta(days=3), since)):
        for _ in range(count):
            run = maker.run("List all")
            at = datetime.combine(first, time(12), UTC)
            ProblemCase.objects.create(tenant=cast.acme, group=group, run=run, at=at)


@pytest.mark.parametrize(("before", "since", "verdict"), [(20, 3, "better"), (10, 11, "same"), (3, 20, "worse")])
def test_after_a_week_the_desk_says_whether_it_helped(cast: Cast, before: int, since: int, verdict: str) -> None:
    group = changed_group(cast, days_ago=9)
    weeks(cast, group, before=before, since=since)
    outcome = outcome_of(group, now=timezone.now())
    assert outcome is not None
    assert (outcome.verdict, outcome.before.cases, outcome.since.cases) == (verdict, before, since)
    assert (outcome.before.runs, outcome.since.runs, outcome.since.days) == (700, 700, 7)
    assert (outcome.before.value, outcome.since.value) == (before / 100, since / 100)


def test_before_a_week_has_passed_it_is_too_early(cast: Cast) -> None:
    group = changed_group(cast, days_ago=2)
    outcome = outcome_of(group, now=timezone.now())
    assert outcome is not None and outcome.verdict == "early"
    assert outcome.before.value is None
    group.changed_at = None
    assert outcome_of(group, now=timezone.now()) is None


def test_a_published_draft_counts_as_the_change(cast: Cast, maker: Maker) -> None:
    maker.run("Where is it?", ("find", "error", {"error": "Down."}))
    look(cast)
    group = ProblemGroup.objects.get(tenant=cast.acme)
    version = draft_against(group=group, line="Say so.", actor=cast.amy)
    assert group.in_force_at is None
    publish_prompt(version=version, actor=cast.amy)
    maker.run("And now?", days_ago=0)
    group_tenant(tenant_id=cast.acme.pk, now=timezone.now() + timedelta(hours=1))
    group.refresh_from_db()
    assert (group.state, group.in_force_at) == ("changed", version.published_at)


def test_retention_takes_cases_and_annotations_are_limited(
    cast: Cast, maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = maker.run("Where is it?", ("find", "error", {"error": "Down."}), days_ago=20)
    look(cast)
    Retention.objects.create(tenant=cast.acme, tool_calls=10)
    apply_retention(tenant=cast.acme)
    assert not ProblemCase.objects.filter(tenant=cast.acme).exists()
    annotate(run=run, said=Said("wrong"), actor=cast.amy)
    monkeypatch.setattr(annotations, "MAX_ANNOTATIONS", 1)
    annotate(run=run, said=Said("right"), actor=cast.amy)
    with pytest.raises(AnnotationRefused):
        annotate(run=maker.run("Another"), said=Said("wrong"), actor=cast.amy)
    assert [row.label for row in Annotation.objects.filter(tenant=cast.acme)] == ["right"]
    Message.objects.filter(run=run).delete()
    run.conversation.delete()
    assert not Annotation.objects.filter(tenant=cast.acme).exists()

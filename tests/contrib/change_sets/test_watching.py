"""How answers are with a set and without it, and that a set is taken back by itself only where somebody said so."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from assistant.contrib.change_sets.models import ChangeSet
from assistant.contrib.change_sets.services.acts import submit
from assistant.contrib.change_sets.services.figures import Comparison, Figures, compare
from assistant.contrib.change_sets.services.timing import watch
from assistant.contrib.change_sets.shares import in_share
from assistant.models import Assistant, AuditEntry, Feedback, Run
from tests.base import Cast
from tests.contrib.change_sets.sets import FEWER_MESSAGES, NEW_PROMPT, change_set, prompt_of
from tests.contrib.panel.conftest import signed_in
from tests.factories import make_conversation, make_message, make_run

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def answers(
    cast: Cast, number: int, *, failed: int = 0, at: timedelta = HOUR, assistant: Assistant | None = None
) -> None:
    """Let so many answers of Acme's have been given, `at` from now."""
    for index in range(number):
        conversation = make_conversation(cast.alice, assistant or cast.support)
        status = Run.Status.FAILED if index < failed else Run.Status.FINISHED
        run = make_run(conversation, status=status)
        Run.objects.filter(pk=run.pk).update(started_at=timezone.now() + at)


def on(cast: Cast, *, watched: int | None = 20, percent: int = 100) -> ChangeSet:
    draft = change_set(cast, NEW_PROMPT, percent=percent)
    ChangeSet.objects.filter(pk=draft.pk).update(watched_answers=watched)
    return submit(change_set=draft, actor=cast.root)


def test_a_set_that_makes_answers_worse_is_taken_back_after_the_stated_number(cast: Cast) -> None:
    answers(cast, 40, failed=1, at=-HOUR)
    row = on(cast, watched=30)
    answers(cast, 20, failed=12)
    assert watch() == 0
    answers(cast, 10, failed=6)
    assert (watch(), watch()) == (1, 0)
    row.refresh_from_db()
    assert (row.state, prompt_of(cast.support)) == ("ended", "You are Acme's support assistant.")
    assert row.note == "Taken back by itself after 30 answers: failed 2.5 % → 60.0 %."
    entry = AuditEntry.objects.get(action="changeset.take_back")
    assert (entry.actor, entry.details["why"]) == (None, row.note)


def test_a_set_that_nobody_watches_stays_whatever_happens(cast: Cast) -> None:
    answers(cast, 40, at=-HOUR)
    row = on(cast, watched=None)
    answers(cast, 40, failed=40)
    assert watch() == 0
    row.refresh_from_db()
    assert row.state == "on"


@pytest.mark.parametrize(
    ("before", "since"),
    [((40, 4), (40, 4)), ((40, 20), (40, 2)), ((0, 0), (40, 40)), ((100, 2), (30, 2))],
    ids=["even", "better", "no past", "by chance"],
)
def test_a_set_stays_where_answers_are_not_worse(cast: Cast, before: tuple[int, int], since: tuple[int, int]) -> None:
    found = Comparison(Figures(since[0], failed=since[1]), Figures(before[0], failed=before[1]))
    assert found.worse(points=3) == []


def test_a_share_is_compared_with_the_other_conversations_of_the_same_time(cast: Cast) -> None:
    answers(cast, 30, failed=30, at=-HOUR)
    row = on(cast, percent=40)
    answers(cast, 60)
    for run in Run.objects.filter(started_at__gt=timezone.now()):
        if in_share(change_set=row.pk, conversation=run.conversation_id, percent=40):
            Run.objects.filter(pk=run.pk).update(status=Run.Status.CANCELLED)
    found = compare(row)
    assert found.inside.runs + found.outside.runs == 60
    assert (found.inside.percent("stopped"), found.outside.percent("stopped")) == (100.0, 0.0)
    assert (found.inside.failed, found.outside.failed) == (0, 0)


def test_only_what_the_set_reaches_is_counted(cast: Cast) -> None:
    row = on(cast)
    other = Assistant.objects.create(tenant=cast.acme, slug="sales", name="Sales")
    answers(cast, 3, assistant=other)
    make_run(make_conversation(cast.mallory, cast.rival_support))
    run = make_run(make_conversation(cast.alice, cast.support), status=Run.Status.FINISHED)
    make_run(make_conversation(cast.alice, cast.support), status=Run.Status.FINISHED, is_test=True)
    message = make_message(run.conversation, "assistant", "No.", run=run)
    Feedback.objects.create(tenant=cast.acme, user=cast.alice, message=message, rating=Feedback.Rating.DOWN)
    assert compare(row).inside == Figures(1, disliked=1)
    whole = submit(change_set=change_set(cast, FEWER_MESSAGES), actor=cast.root)
    answers(cast, 2, assistant=other)
    # All assistants' of the tenant, those three too.
    assert compare(whole).inside.runs == 5


def test_the_page_says_how_the_answers_are(cast: Cast) -> None:
    answers(cast, 40, failed=1, at=-HOUR)
    row = on(cast)
    answers(cast, 20, failed=12)
    client: Client = signed_in(cast.root)
    page = client.get(f"/admin/assistant_change_sets/changeset/{row.pk}/change/")
    assert page.context["figures"].lines[0] == ("Failed", "60.0 %", "2.5 %", True)
    assert "From 20 answers on it is taken back by itself" in page.content.decode()

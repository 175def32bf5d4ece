"""What is recorded of searches and ratings: once, of the own tenant, and while what it comes from is there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from assistant.contrib.gaps.models import OpenQuestion, ReachedDocument, RecordedTenant
from assistant.contrib.gaps.services import recording
from assistant.contrib.gaps.services.recording import due_tenants, record_tenant, record_tenants
from assistant.models import Feedback, Tenant, ToolCall
from assistant.services.knowledge.documents import add_document
from tests.base import Cast
from tests.contrib.gaps.rows import asked, result_of, search

pytestmark = pytest.mark.django_db


def record(tenant: Tenant, seconds: float = 120) -> None:
    record_tenant(tenant_id=tenant.pk, now=timezone.now() + timedelta(seconds=seconds))


def open_of(tenant: Tenant) -> list[tuple[str, str]]:
    return list(OpenQuestion.objects.filter(tenant=tenant).order_by("pk").values_list("kind", "question"))


def test_a_question_whose_searches_found_nothing_is_open_in_its_own_tenant(cast: Cast) -> None:
    asked(cast, "May I bring my dog?")
    asked(cast, "And theirs?", rival=True)
    record(cast.acme)
    assert open_of(cast.acme) == [("nothing", "May I bring my dog?")]
    assert open_of(cast.globex) == []
    assert OpenQuestion.objects.get().wordings == ["dog premises"]


def test_a_second_search_that_finds_something_answers(cast: Cast) -> None:
    document = add_document(tenant=cast.acme, title="Pets", text="Dogs are welcome.")
    run = asked(cast, "May I bring my dog?")
    search(run, document)
    record(cast.acme)
    assert open_of(cast.acme) == []
    assert ReachedDocument.objects.get(document=document).times == 1


def test_nothing_is_recorded_twice(cast: Cast) -> None:
    document = add_document(tenant=cast.acme, title="Pets", text="Dogs are welcome.")
    asked(cast, "May I bring my dog?")
    asked(cast, "Cats?", document)
    record(cast.acme)
    record(cast.acme, 300)
    asked(cast, "Cats again?", document, started_at=timezone.now())
    ToolCall.objects.filter(run__messages__content="Cats again?").update(started_at=timezone.now() + timedelta(hours=1))
    record(cast.acme, 7_200)
    assert len(open_of(cast.acme)) == 1
    assert ReachedDocument.objects.get(document=document).times == 2


def test_searches_of_a_run_that_goes_on_wait_for_its_end(cast: Cast) -> None:
    run = asked(cast, "May I bring my dog?", status="running")
    record(cast.acme)
    assert open_of(cast.acme) == []
    type(run).objects.filter(pk=run.pk).update(status="finished")
    record(cast.acme, 300)
    assert open_of(cast.acme) == [("nothing", "May I bring my dog?")]


def test_an_answer_that_was_found_and_disliked_is_open_and_goes_with_its_rating(cast: Cast) -> None:
    document = add_document(tenant=cast.acme, title="Pets", text="Dogs are welcome.")
    asked(cast, "Liked?", document, rating=1)
    asked(cast, "Disliked?", document, rating=-1)
    record(cast.acme)
    assert open_of(cast.acme) == [("disliked", "Disliked?")]
    Feedback.objects.filter(rating=-1).delete()
    assert open_of(cast.acme) == []


def test_tests_and_failed_searches_are_no_gaps(cast: Cast) -> None:
    asked(cast, "A test?", is_test=True)
    run = asked(cast, "Failed?")
    ToolCall.objects.filter(run=run).update(status="error", result="")
    record(cast.acme)
    assert open_of(cast.acme) == []


def test_a_search_over_mcp_is_open_by_its_first_wording(cast: Cast) -> None:
    ToolCall.objects.create(
        tenant=cast.acme, user=cast.alice, name="search_docs", call_id="m", status="ok",
        arguments='{"queries": ["Pets on premises"]}', result=result_of(),
    )  # fmt: skip
    record(cast.acme)
    assert open_of(cast.acme) == [("nothing", "Pets on premises")]
    cast.alice.delete()
    assert open_of(cast.acme) == []


@pytest.mark.parametrize("text", ["", "no JSON", "[" * 100_000, '{"queries": 5}', '["x"]', '{"queries": [[1]]}'])
def test_arguments_and_results_that_are_none_break_nothing(cast: Cast, text: str) -> None:
    run = asked(cast, "May I bring my dog?")
    ToolCall.objects.filter(run=run).update(arguments=text, result=text)
    record(cast.acme)
    assert RecordedTenant.objects.filter(tenant=cast.acme).exists()


def test_a_document_of_another_tenant_in_a_result_is_not_counted(cast: Cast) -> None:
    theirs = add_document(tenant=cast.globex, title="Theirs", text="Text.")
    asked(cast, "Whose?", theirs)
    record(cast.acme)
    assert not ReachedDocument.objects.exists()


def test_a_question_goes_with_its_conversation(cast: Cast) -> None:
    run = asked(cast, "May I bring my dog?")
    record(cast.acme)
    run.conversation.delete()
    assert open_of(cast.acme) == []


def test_the_oldest_go_and_many_calls_are_read_in_parts(cast: Cast, monkeypatch: Any) -> None:
    monkeypatch.setattr(recording, "MAX_QUESTIONS", 2)
    monkeypatch.setattr(recording, "MAX_CALLS", 2)
    for number in range(4):
        run = asked(cast, f"Question {number}?")
        ToolCall.objects.filter(run=run).update(started_at=timezone.now() - timedelta(hours=9 - number))
    for minutes in (2, 4, 6):
        record(cast.acme, 60 * minutes)
    assert open_of(cast.acme) == [("nothing", "Question 2?"), ("nothing", "Question 3?")]


def test_tenants_are_due_by_new_searches_and_ratings(cast: Cast) -> None:
    assert record_tenants() == 0
    asked(cast, "May I bring my dog?")
    later = timezone.now() + timedelta(minutes=5)
    assert due_tenants(now=later) == [cast.acme.pk]
    record_tenant(tenant_id=cast.acme.pk, now=later)
    assert due_tenants(now=later + timedelta(minutes=5)) == []

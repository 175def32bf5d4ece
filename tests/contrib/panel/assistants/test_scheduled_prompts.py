"""Scheduled publications: at their moment, once, by whoever scheduled them, shown if they fail."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from assistant.contrib.panel.services.scheduled_prompts import (
    MAX_WAITING,
    cancel_publication,
    failed_publications_of,
    publications_of,
    schedule_publication,
)
from assistant.models import AuditEntry, Job, PromptVariable, PromptVersion
from assistant.services.assistants.prompt_values import UnknownVariables
from assistant.services.assistants.prompts import draft_prompt
from tests.base import Cast
from tests.services.jobs.due_jobs import do_due_jobs

SOON = timedelta(minutes=5)


def planned(cast: Cast, text: str = "Sale!") -> PromptVersion:
    version = draft_prompt(assistant=cast.support, text=text)
    schedule_publication(version=version, at=timezone.now() + SOON, actor=cast.amy)
    return version


def come_due() -> int:
    Job.objects.filter(state="waiting").update(due_at=timezone.now() - SOON)
    return do_due_jobs()


def test_a_version_is_published_at_its_moment_and_audited(cast: Cast) -> None:
    version = planned(cast)
    assert do_due_jobs() == 0
    assert (come_due(), come_due()) == (1, 0)
    version.refresh_from_db()
    assert version.status == "published"
    entry = AuditEntry.objects.get(action="prompt.publish")
    assert (entry.actor, entry.tenant) == (cast.amy, cast.acme)
    assert entry.details == {"values": {"published version": ["1", "2"]}, "scheduled": True}


def test_scheduling_again_moves_the_moment_and_cancelling_ends_it(cast: Cast) -> None:
    version = planned(cast)
    schedule_publication(version=version, at=timezone.now() + 2 * SOON, actor=cast.amy)
    assert Job.objects.count() == 1
    assert cancel_publication(version=version, actor=cast.amy)
    assert not cancel_publication(version=version, actor=cast.amy)
    assert come_due() == 0
    moments = [entry.details["values"]["publication"] for entry in AuditEntry.objects.order_by("pk")[1:]]
    assert [[before is None, after is None] for before, after in moments] == [
        [True, False], [False, False], [False, True],
    ]  # fmt: skip


@pytest.mark.parametrize("offset", [timedelta(0), -SOON, timedelta(days=400)])
def test_the_moment_is_in_the_future_within_a_year(cast: Cast, offset: timedelta) -> None:
    with pytest.raises(ValueError, match="future"):
        schedule_publication(version=cast.support.prompt_versions.get(), at=timezone.now() + offset)


def test_only_so_many_wait(cast: Cast) -> None:
    for _ in range(MAX_WAITING):
        planned(cast)
    with pytest.raises(ValueError, match="Too many"):
        planned(cast)


def test_a_version_with_unknown_variables_is_not_scheduled_and_fails_if_they_go_later(cast: Cast) -> None:
    hours = PromptVariable.objects.create(tenant=cast.acme, name="hours", value="nine")
    version = planned(cast, "{{ hours }}")
    hours.delete()
    with pytest.raises(UnknownVariables):
        schedule_publication(version=version, at=timezone.now() + SOON)
    assert come_due() == 0
    (job,) = failed_publications_of(tenant_id=cast.acme.pk, assistant_id=cast.support.pk)
    assert "{{ hours }}" in job.problem
    assert cast.support.prompt_versions.get(status="published").number == 1


def test_the_publication_of_a_deleted_draft_does_nothing(cast: Cast) -> None:
    planned(cast).delete()
    assert come_due() == 0
    assert Job.objects.get().problem == "The version was deleted."


def test_only_the_assistants_own_are_listed(cast: Cast) -> None:
    version = planned(cast)
    other = draft_prompt(assistant=cast.rival_support, text="Sale?")
    schedule_publication(version=other, at=timezone.now() + SOON)
    (job,) = publications_of(tenant_id=cast.acme.pk, assistant_id=cast.support.pk)
    assert job.key == str(version.pk)
    assert publications_of(tenant_id=cast.globex.pk, assistant_id=cast.support.pk) == []

"""Jobs are done once, after their moment, by one of several processes; failures are tried again, then given up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.models import Incident, Job
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import MAX_ATTEMPTS, JobRefused, cancel, handles, schedule
from tests.base import Cast
from tests.services.jobs.due_jobs import do_due_jobs

NAME, LONG = "test.note", "test.long"
PAST, LATER = timedelta(minutes=-1), timedelta(hours=1)


@pytest.fixture
def done() -> Iterator[list[str]]:
    """Register a function for `NAME` that notes the key of each job, and fails if the key says how."""
    noted: list[str] = []

    @handles(NAME)
    def note(job: Job) -> None:
        noted.append(job.key)
        Incident.objects.filter(tenant=job.tenant).delete()
        if job.key == "refused":
            raise JobRefused("It is too late.")
        if job.key == "broken":
            job.tenant.name = "Changed"
            job.tenant.save()
            raise KeyError("a secret that nobody may read")
        if job.key == "away":
            raise OperationalError("the database went away")

    yield noted
    del jobs._handlers[NAME]


def plan(cast: Cast, key: str = "a", at: timedelta = PAST, name: str = NAME) -> Job:
    return schedule(tenant_id=cast.acme.pk, name=name, key=key, due_at=timezone.now() + at)


def test_a_due_job_is_done_once(cast: Cast, done: list[str]) -> None:
    job = plan(cast)
    plan(cast, "later", LATER)
    assert (do_due_jobs(), do_due_jobs(), done) == (1, 0, ["a"])
    job.refresh_from_db()
    assert job.state == "done" and job.ended_at is not None
    assert Job.objects.get(key="later").state == "waiting"


def test_the_same_work_waits_once_with_its_newest_moment(cast: Cast, done: list[str]) -> None:
    first = plan(cast)
    assert plan(cast, at=LATER).pk == first.pk
    assert do_due_jobs() == 0 and Job.objects.count() == 1
    other = schedule(tenant_id=cast.globex.pk, name=NAME, key="a", due_at=timezone.now() + PAST)
    assert (do_due_jobs(), Job.objects.get(state="done")) == (1, other)


def test_work_that_was_done_can_be_scheduled_again(cast: Cast, done: list[str]) -> None:
    plan(cast)
    do_due_jobs()
    plan(cast)
    assert (do_due_jobs(), done) == (1, ["a", "a"])


def test_a_cancelled_job_is_not_done_and_only_its_tenant_cancels_it(cast: Cast, done: list[str]) -> None:
    plan(cast)
    assert not cancel(tenant_id=cast.globex.pk, name=NAME, key="a")
    assert cancel(tenant_id=cast.acme.pk, name=NAME, key="a")
    assert not cancel(tenant_id=cast.acme.pk, name=NAME, key="a")
    assert (do_due_jobs(), done) == (0, [])


def test_a_refused_job_fails_with_its_sentence(cast: Cast, done: list[str]) -> None:
    job = plan(cast, "refused")
    assert (do_due_jobs(), do_due_jobs(), done) == (0, 0, ["refused"])
    job.refresh_from_db()
    assert (job.state, job.problem) == ("failed", "It is too late.")


def test_a_broken_job_changes_nothing_is_tried_again_and_hinders_no_other(cast: Cast, done: list[str]) -> None:
    job = plan(cast, "broken")
    plan(cast, "z")
    assert (do_due_jobs(), done) == (1, ["broken", "z"])
    job.refresh_from_db()
    assert job.state == "waiting" and job.due_at > timezone.now() + timedelta(seconds=50)
    assert "secret" not in job.problem and "error" in job.problem
    cast.acme.refresh_from_db()
    assert cast.acme.name == "Acme"
    for _ in range(MAX_ATTEMPTS):
        Job.objects.filter(pk=job.pk).update(due_at=timezone.now() + PAST)
        do_due_jobs()
    job.refresh_from_db()
    assert (job.state, done.count("broken")) == ("failed", MAX_ATTEMPTS)


def test_an_outage_leaves_the_job_as_it_was(cast: Cast, done: list[str]) -> None:
    job = plan(cast, "away")
    with pytest.raises(OperationalError):
        do_due_jobs()
    job.refresh_from_db()
    assert (job.state, job.attempts) == ("waiting", 0)


def test_a_job_of_an_unknown_name_waits(cast: Cast, done: list[str]) -> None:
    plan(cast, name="of a newer version")
    assert do_due_jobs() == 0
    assert Job.objects.get().state == "waiting"


def test_two_functions_for_one_name_are_refused(done: list[str]) -> None:
    with pytest.raises(ValueError, match="two functions"):
        handles(NAME)(lambda job: None)


def test_finding_nothing_costs_one_query_and_no_lock(cast: Cast, done: list[str]) -> None:
    plan(cast, at=LATER)
    with CaptureQueriesContext(connection) as queries:
        do_due_jobs()
    assert [query["sql"].split()[0] for query in queries] == ["SELECT"]


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_processes_that_look_at_once_do_a_job_once(cast: Cast, done: list[str]) -> None:
    for number in range(10):
        plan(cast, str(number))
    together = threading.Barrier(4)

    def look() -> None:
        together.wait()
        do_due_jobs()
        connection.close()

    threads = [threading.Thread(target=look) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(done) == sorted(map(str, range(10)))


@pytest.fixture
def long() -> Iterator[list[str]]:
    """Register long work that notes the key of its job, and fails if that is "broken"."""
    noted: list[str] = []

    async def work(job: Job) -> None:
        noted.append(job.key)
        if job.key == "broken":
            raise KeyError("a secret that nobody may read")
        if job.key == "away":
            raise OperationalError("the database went away")

    @handles(LONG, is_long=True)
    def begin(job: Job) -> jobs.LongWork:
        return partial(work, jobs.again(job, LATER))

    yield noted
    del jobs._handlers[LONG]
    jobs._long.discard(LONG)


def test_long_work_is_handed_to_who_can_run_it_and_otherwise_waits(cast: Cast, long: list[str]) -> None:
    job = plan(cast, name=LONG)
    assert do_due_jobs() == 0
    started: list[jobs.LongWork] = []
    assert (do_due_jobs(start=started.append), len(started)) == (1, 1)
    assert (do_due_jobs(start=started.append), len(started)) == (0, 1)
    asyncio.run(started[0]())
    held = Job.objects.get(pk=job.pk)
    assert (long, held.state, held.ended_at) == (["a"], "waiting", None) and held.due_at > timezone.now()


def do_long(cast: Cast) -> None:
    Job.objects.update(due_at=timezone.now() + PAST)
    started: list[jobs.LongWork] = []
    do_due_jobs(start=started.append)
    for work in started:
        asyncio.run(work())


@pytest.mark.django_db(transaction=True)
def test_long_work_that_fails_is_tried_again_later_each_time_and_given_up(cast: Cast, long: list[str]) -> None:
    job, waits = plan(cast, "broken", name=LONG), []
    for _ in range(MAX_ATTEMPTS):
        do_long(cast)
        job.refresh_from_db()
        waits.append(round((job.due_at - timezone.now()).total_seconds() / jobs.RETRY_SECONDS))
    assert (job.state, job.attempts, len(long), waits[:4]) == ("failed", MAX_ATTEMPTS, MAX_ATTEMPTS, [1, 2, 4, 8])
    assert job.problem and "secret" not in job.problem


@pytest.mark.django_db(transaction=True)
def test_after_an_outage_long_work_is_tried_again_when_it_is_held_no_more(cast: Cast, long: list[str]) -> None:
    job = plan(cast, "away", name=LONG)
    with pytest.raises(OperationalError):
        do_long(cast)
    job.refresh_from_db()
    assert job.state == "waiting" and job.due_at > timezone.now() + LATER / 2


def test_work_that_recurs_forgets_its_failures_once_it_is_done(cast: Cast) -> None:
    job = plan(cast)
    Job.objects.update(attempts=3, problem="It failed.")
    assert jobs.renew(tenant_id=cast.acme.pk, pk=job.pk, due_at=timezone.now() + LATER, is_new=True)
    assert not jobs.renew(tenant_id=cast.globex.pk, pk=job.pk, due_at=timezone.now(), is_new=True)
    job.refresh_from_db()
    assert (job.attempts, job.problem) == (0, "") and job.due_at > timezone.now()

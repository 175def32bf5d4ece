"""A Redis that is full or read-only is an outage, and no sign that another process has the run."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from django.test import Client
from pytest_django import Settings

from assistant.contrib.redis import log as redis
from assistant.contrib.redis.log import RedisLog
from assistant.contrib.redis.problems import redis_problem
from assistant.models import Provider, Run
from assistant.services.errors import Refused, describe_outage, is_outage
from assistant.services.eventlog.log import Fenced
from assistant.services.runs.manager import Runs
from assistant.services.tenancy.members import Member
from tests.refusing_redis import FULL, NO_SNAPSHOT, READ_ONLY, refusing_redis
from tests.services.eventlog.test_log import entries, until
from tests.services.runs.test_opening import given

CASES = {FULL: "full", READ_ONLY: "read-only", NO_SNAPSHOT: "read-only"}


@pytest.fixture(params=CASES)
def refusal(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(refusal: str) -> Iterator[str]:
    with refusing_redis(refusal) as address:
        yield address


async def test_events_that_redis_refuses_do_not_take_the_run_away(
    url: str, refusal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "MAX_RETRY_SECONDS", 0.1)
    log = RedisLog(url, lambda message: None)
    [failure] = await log.append([(str(uuid.uuid4()), entries(1, 1, 2))])
    assert not isinstance(failure, Fenced)
    assert redis_problem(failure) == CASES[refusal]
    await log.close()


async def test_a_run_that_redis_refuses_can_be_sent_again(
    url: str, refusal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis, "MAX_RETRY_SECONDS", 0.1)
    log = RedisLog(url, lambda message: None)
    with pytest.raises(Exception) as caught:
        await log.start_run(str(uuid.uuid4()), 2)
    assert is_outage(caught.value)
    assert describe_outage(caught.value).startswith(f"Redis is {CASES[refusal]}")
    await log.close()


@pytest.mark.django_db(transaction=True)
async def test_a_run_is_refused_before_it_is_stored_while_redis_is_known_to_refuse(
    url: str, alice_member: Member, provider: Provider, settings: Settings
) -> None:
    settings.ASSISTANT_REDIS_URL = url
    process = Runs()
    await process.start()
    await until(lambda: not process.log.is_writable)
    with pytest.raises(Refused) as caught:
        await process.open(member=alice_member, assistant_slug="support", given=given(uuid.uuid4()))
    assert caught.value.resets_at is not None
    assert not await Run.objects.aexists()
    await process.stop()


@pytest.mark.django_db(transaction=True)
def test_a_process_whose_redis_refuses_writes_is_not_ready_and_says_why(
    url: str, refusal: str, client: Client, settings: Settings
) -> None:
    settings.ASSISTANT_REDIS_URL = url
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["redis"]) == (503, CASES[refusal])


def test_not_ready_while_redis_is_away(client: Client, db: None, settings: Settings) -> None:
    settings.ASSISTANT_REDIS_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["checks"]["redis"] == "failed"

"""Token buckets of connections and members."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from assistant.services.limits import rate_limits
from assistant.services.limits.rate_limits import Arrival, member_bucket
from assistant.services.token_bucket import Bucket, Buckets


def test_a_bucket_gives_its_burst_and_then_refuses() -> None:
    bucket = Bucket(3, 0.0)
    assert [bucket.take() for _ in range(5)] == [True, True, True, False, False]


def test_a_members_connections_share_one_bucket_and_others_have_their_own() -> None:
    first = member_bucket(tenant_id=1, user_id=1)
    assert member_bucket(tenant_id=1, user_id=1) is first
    assert member_bucket(tenant_id=2, user_id=1) is not first
    assert member_bucket(tenant_id=1, user_id=2) is not first


def test_a_bucket_is_forgotten_with_the_last_connection() -> None:
    bucket = member_bucket(tenant_id=7, user_id=7)
    while bucket.take():
        pass
    del bucket
    assert member_bucket(tenant_id=7, user_id=7).take()


def test_a_bucket_gives_of_what_is_to_come_within_ones_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    bucket = Bucket(1, 2.0)
    assert [bucket.reserve(1.0) for _ in range(4)] == [0.0, 0.5, 1.0, None]
    assert not bucket.take()
    monkeypatch.setattr(time, "monotonic", lambda: 1_001.0)
    assert bucket.reserve(1.0) == 0.5


async def test_handshakes_with_one_credential_wait_for_their_turn_and_are_refused_past_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(rate_limits, "_handshakes", Buckets(2, 0.1))
    monkeypatch.setattr(asyncio, "sleep", sleep)
    assert [await Arrival("a key").may_knock() for _ in range(4)] == [True, True, True, False]
    assert await Arrival("another key").may_knock()
    assert slept == [pytest.approx(10.0, abs=0.1)]


@pytest.mark.parametrize(
    ("stays", "is_of_use", "waits"),
    [(0.5, False, True), (0.5, True, False), (1.5, False, False)],
    ids=["for nothing", "of use", "to stay"],
)
async def test_who_comes_for_nothing_and_leaves_at_once_waits_longer_the_next_time(
    monkeypatch: pytest.MonkeyPatch, stays: float, is_of_use: bool, waits: bool
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(rate_limits, "_handshakes", Buckets(2, rate_limits.HANDSHAKE_RATE))
    monkeypatch.setattr(asyncio, "sleep", sleep)
    arrival = Arrival("a key")
    assert await arrival.may_knock()
    arrival.begin()
    arrival.is_of_use = is_of_use
    now += stays
    arrival.end()
    arrival.end()  # counted once
    assert await Arrival("a key").may_knock()
    assert bool(slept) == waits
    assert not waits or slept == [pytest.approx((rate_limits.CAME_FOR_NOTHING - 1) / rate_limits.HANDSHAKE_RATE)]


def test_a_debt_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    bucket = Bucket(2, 10.0)
    for _ in range(10):
        bucket.charge(24.0, 50.0)
    assert bucket.reserve(10.0) == 5.1
    for _ in range(40):
        bucket.reserve(10.0)
    bucket.charge(24.0, 50.0)  # which lets off nothing of what was owed already
    assert bucket.reserve(10.0) == 9.2


async def test_who_goes_on_is_told_less_and_less_often_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(round(seconds, 1))

    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    monkeypatch.setattr(rate_limits, "_refusals", Buckets(2, 0.5))
    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(random, "uniform", lambda least, most: most)
    for _ in range(8):
        await rate_limits.hold_back("one who floods")
    await rate_limits.hold_back("another")
    assert slept == [1.0, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 10.0, 1.0]


async def test_those_who_began_together_are_not_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    for number in range(100):
        await rate_limits.hold_back(number)
    least = rate_limits.HOLD_BACK_SECONDS * rate_limits.HELD_BACK_SHARE
    assert least <= min(slept) < least * 1.2 and 0.9 < max(slept) <= rate_limits.HOLD_BACK_SECONDS


async def test_one_who_floods_does_not_keep_others_from_being_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    gate = asyncio.Event()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await gate.wait()

    tasks = []
    with monkeypatch.context() as patched:
        patched.setattr(asyncio, "sleep", sleep)
        for who in (*["one who floods"] * (rate_limits.HELD_BACK_OF_ONE + 20), "another"):
            tasks.append(asyncio.create_task(rate_limits.hold_back(who)))
            await asyncio.wait([tasks[-1]], timeout=0)
    assert len(slept) == rate_limits.HELD_BACK_OF_ONE + 1
    gate.set()
    await asyncio.gather(*tasks)

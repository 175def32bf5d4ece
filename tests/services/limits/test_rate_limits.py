"""Token buckets of connections, members and credentials."""

from __future__ import annotations

import time

import pytest

from assistant.services import token_bucket
from assistant.services.limits import rate_limits
from assistant.services.limits.rate_limits import MEMBER_BURST, member_bucket, take_handshake
from assistant.services.token_bucket import Bucket, Buckets


def test_a_bucket_allows_its_burst_and_then_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    bucket = Bucket(3, 2.0)
    assert [bucket.take() for _ in range(5)] == [True, True, True, False, False]
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.5)
    assert [bucket.take() for _ in range(2)] == [True, False]


def test_a_token_can_be_reserved_in_advance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    bucket = Bucket(1, 2.0)
    assert [bucket.reserve() for _ in range(3)] == [0.0, 0.5, 1.0]
    assert not bucket.take()
    monkeypatch.setattr(time, "monotonic", lambda: 1_001.0)
    assert bucket.reserve() == 0.5
    assert bucket.reserve(4) == 2.5


def test_the_least_recently_used_bucket_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_bucket, "MAX_BUCKETS", 2)
    buckets = Buckets(1, 0.0)
    assert buckets.get("a").take() and buckets.get("b").take()
    assert not buckets.get("a").take()
    assert buckets.get("c").take()
    assert not buckets.get("a").take()
    assert buckets.get("b").take()


def test_a_members_connections_share_one_bucket_and_others_have_their_own() -> None:
    first = member_bucket(tenant_id=1, user_id=1)
    assert member_bucket(tenant_id=1, user_id=1) is first
    assert member_bucket(tenant_id=2, user_id=1) is not first
    assert member_bucket(tenant_id=1, user_id=2) is not first


def test_a_member_who_reconnects_does_not_get_a_full_bucket() -> None:
    taken = sum(member_bucket(tenant_id=7, user_id=7).take() for _ in range(2 * MEMBER_BURST))
    assert MEMBER_BURST <= taken < 1.5 * MEMBER_BURST


def test_handshakes_are_limited_for_each_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "_handshakes", Buckets(2, 0.0))
    assert [take_handshake("a key") for _ in range(3)] == [True, True, False]
    assert take_handshake("another key")

"""Token buckets of connections and members."""

from __future__ import annotations

from assistant.services.limits import Bucket, member_bucket


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

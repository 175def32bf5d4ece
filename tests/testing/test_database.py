"""All threads use the test's connection, and take turns in transactions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from asgiref.sync import async_to_sync
from django.db import connections, transaction

from assistant.models import Tenant
from assistant.services.db import threads as database_threads
from assistant.services.db.threads import FairThreads, in_database
from assistant.testing import share_connections
from tests.factories import make_tenant

pytestmark = pytest.mark.django_db


def count() -> int:
    try:
        return Tenant.objects.filter(slug="acme").count()
    finally:
        connections.close_all()


def test_other_threads_see_uncommitted_rows_within_the_block_alone() -> None:
    make_tenant("acme")
    with ThreadPoolExecutor(1) as thread:
        with share_connections(), share_connections():
            assert thread.submit(count).result() == 1
            assert thread.submit(lambda: connections["default"]).result() is connections["default"]
        assert thread.submit(lambda: connections["default"]).result() is not connections["default"]
    assert Tenant.objects.filter(slug="acme").exists()


def test_transactions_of_several_threads_do_not_overlap() -> None:
    def write(number: int) -> None:
        for one in range(30):
            with transaction.atomic():
                make_tenant(f"t-{number}-{one}")

    with share_connections(), ThreadPoolExecutor(4) as threads:
        for one in [threads.submit(write, number) for number in range(4)]:
            one.result()
    assert Tenant.objects.filter(slug__startswith="t-").count() == 120


def test_a_block_of_the_test_may_wait_for_one_of_a_thread() -> None:
    def write() -> None:
        with transaction.atomic():
            make_tenant("acme")

    with share_connections(), ThreadPoolExecutor(1) as thread, transaction.atomic():
        thread.submit(write).result()
    assert Tenant.objects.filter(slug="acme").exists()


def test_a_database_thread_that_began_with_a_lent_connection_keeps_its_own_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def longest_use() -> int | None:
        age: int | None = connections["default"].settings_dict["CONN_MAX_AGE"]
        return age

    monkeypatch.setattr(database_threads, "_threads", FairThreads(1, name="test"))
    before = longest_use()
    with share_connections():
        assert async_to_sync(in_database)(longest_use) == before
    assert longest_use() == before
    kept = async_to_sync(in_database)(longest_use)
    assert kept is None or kept > 0
    async_to_sync(in_database)(connections.close_all)


@pytest.mark.django_db(transaction=True)
def test_what_is_committed_is_not_shared() -> None:
    with share_connections(), ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: connections["default"]).result() is not connections["default"]

"""After a test with committed rows, the tables hold only what `migrate` writes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import DatabaseError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from assistant.models import Tenant
from tests.base import Cast
from tests.emptying.management.commands import flush
from tests.isolation.planting import plant


def test_every_row_is_deleted_except_those_that_live_servers_cache(transactional_db: None, cast: Cast) -> None:
    plant(cast)
    kept = {model: list(model.objects.order_by("pk").values()) for model in (ContentType, Permission)}
    assert all(kept.values())
    call_command("flush", verbosity=0, interactive=False)
    models = apps.get_models(include_auto_created=True)
    left = {model for model in models if model._meta.managed and model._base_manager.exists()}
    assert left == set(kept)
    assert {model: list(model.objects.order_by("pk").values()) for model in kept} == kept


@pytest.mark.services
def test_flush_waits_for_transactions_that_still_write(transactional_db: None, cast: Cast) -> None:
    other = connections.create_connection("default")
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("UPDATE assistant_tenant SET name = 'Late'")
        with pytest.raises(DatabaseError, match="lock timeout"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '50ms'")
            call_command("flush", verbosity=0, interactive=False)
    finally:
        other.close()


@pytest.mark.services
def test_a_concurrent_commit_with_deferred_foreign_keys_does_not_fail(
    transactional_db: None, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = connections.create_connection("default")
    other.inc_thread_sharing()
    lock = flush.Command._empty
    tried = []

    def wait_for_the_other(self: flush.Command, connection: BaseDatabaseWrapper, tables: Sequence[str]) -> None:
        """Hold the first table until the other transaction, which holds another one, waits for it."""
        if not tried:
            with connection.cursor() as cursor:
                cursor.execute("LOCK TABLE assistant_apikey IN EXCLUSIVE MODE")
            # The transaction that has waited longer looks for the deadlock first, and gets the error.
            threading.Timer(0.3, ask_for_the_first).start()
        tried.append(len(tables))
        lock(self, connection, tables)

    def ask_for_the_first() -> None:
        with other.cursor() as cursor, suppress(DatabaseError):
            cursor.execute("LOCK TABLE assistant_apikey IN ROW EXCLUSIVE MODE")
        other.rollback()
        done.set()

    done = threading.Event()
    monkeypatch.setattr(flush.Command, "_empty", wait_for_the_other)
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("UPDATE assistant_tenant SET name = 'Late'")
        call_command("flush", verbosity=0, interactive=False)
        assert done.wait(10)
    finally:
        other.close()
    assert len(tried) == 2
    assert not Tenant.objects.exists()

"""Lets all threads use the connections of the test, so that tools see rows that it has not committed.

Sync tools and runs query the database in threads, and Django gives each thread a connection of its own. A `TestCase`
never commits, so other connections do not see its rows; on SQLite in memory they fail with "database table is locked".
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import Atomic

Connections = dict[str, BaseDatabaseWrapper]
_enter, _exit = Atomic.__enter__, Atomic.__exit__


class _SharedStore:
    """Takes the place of the thread-local store in `django.db.connections`: the same connections in every thread.

    Databases that are not shared are left to `others`, the store that it replaces.
    """

    def __init__(self, shared: Connections, others: Any) -> None:
        vars(self).update(shared, _others=others)

    def __getattr__(self, alias: str) -> Any:  # only for names that are not shared
        return getattr(vars(self)["_others"], alias)

    def __setattr__(self, alias: str, connection: BaseDatabaseWrapper) -> None:
        setattr(vars(self)["_others"], alias, connection)

    def __delattr__(self, alias: str) -> None:
        delattr(vars(self)["_others"], alias)


class _Turns:
    """Keeps blocks of `transaction.atomic` in two threads from overlapping, as they would on one connection.

    A thread other than the test's has the lock for the whole block. The test's own thread only waits for it, since it
    may wait within a block for a tool that begins one. Its own statements at the same time are not kept apart.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner = threading.get_ident()

    def enter(self, block: Atomic) -> None:
        with self._lock:
            _enter(block)
            if threading.get_ident() != self._owner:
                self._lock.acquire()

    def leave(self, block: Atomic, *exc_info: Any) -> None:
        with self._lock:
            try:
                _exit(block, *exc_info)
            finally:
                if threading.get_ident() != self._owner:
                    self._lock.release()


def _shareable() -> Connections:
    """Return the connections of this thread whose rows no other connection can see."""
    found = {alias: connections[alias] for alias in connections}
    return {
        alias: connection
        for alias, connection in found.items()
        if connection.in_atomic_block or _is_in_memory(connection)
    }


def _is_in_memory(connection: Any) -> bool:
    return bool(connection.vendor == "sqlite" and connection.is_in_memory_db())


@contextmanager
def share_connections() -> Iterator[None]:
    """Let every thread use this thread's connections while the block runs.

    Enter it in the thread of the test, as `AssistantTestMixin`, `ToolTester.run`, `ChatTester` and the fixtures do. It
    changes nothing if they are shared already, or if the test commits its rows, as a `TransactionTestCase` does.
    """
    shared = _shareable()
    store: Any = connections._connections  # type: ignore[attr-defined]
    if not shared or isinstance(store, _SharedStore):
        yield
        return
    owner, turns = threading.get_ident(), _Turns()

    def keep_open(connection: BaseDatabaseWrapper) -> None:
        close = connection.close

        def close_in_own_thread() -> None:
            # The tools' threads close their connections after each call.
            if threading.get_ident() == owner:
                close()

        connection.close = close_in_own_thread  # type: ignore[method-assign]

    for connection in shared.values():
        connection.inc_thread_sharing()
        keep_open(connection)
    connections._connections = _SharedStore(shared, store)  # type: ignore[attr-defined]

    # Not the methods of `turns`, which would not be called with the block.
    def enter(block: Atomic) -> None:
        turns.enter(block)

    def leave(block: Atomic, *exc_info: Any) -> None:
        turns.leave(block, *exc_info)

    Atomic.__enter__, Atomic.__exit__ = enter, leave  # type: ignore[method-assign]
    try:
        yield
    finally:
        Atomic.__enter__, Atomic.__exit__ = _enter, _exit  # type: ignore[method-assign]
        connections._connections = store  # type: ignore[attr-defined]
        for connection in shared.values():
            del connection.close
            connection.dec_thread_sharing()

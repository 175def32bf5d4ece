"""Why the database refuses a connection is told in a sentence."""

from __future__ import annotations

import pytest
from django.db import OperationalError

from assistant.services.errors import describe_outage, is_at_connection_limit, is_outage


@pytest.mark.pure
@pytest.mark.parametrize(
    "said",
    [
        "FATAL:  sorry, too many clients already",
        "FATAL:  remaining connection slots are reserved for non-replication superuser connections",
        'FATAL:  too many connections for role "assistant"',
        "FATAL:  no more connections allowed (max_client_conn)",
    ],
)
def test_a_database_without_free_connections_is_named(said: str) -> None:
    exc = OperationalError(f'connection failed: connection to server at "10.0.0.1", port 5432 failed: {said}')
    assert is_at_connection_limit(exc)
    assert is_outage(exc)
    assert describe_outage(exc).startswith("The database has no free connection")


@pytest.mark.pure
def test_a_database_that_is_away_has_free_connections() -> None:
    exc = OperationalError("connection failed: Connection refused")
    assert not is_at_connection_limit(exc)
    assert describe_outage(exc) == "The database cannot be reached (connection failed: Connection refused)"

"""What `assistant.contrib.deploy` tells of row-level security, and what it takes out with the tables."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError, connection

from assistant.contrib.deploy.findings import Finding
from assistant.contrib.row_level_security import policies


def findings() -> Iterator[Finding]:
    """Yield whether row-level security is on, and what it lacks."""
    if not settings.ASSISTANT_ROW_LEVEL_SECURITY:
        yield Finding("row-level security", "off; docs/production.md#row-level-security", is_manual=True)
        return
    has_plain_cursors = settings.DATABASES["default"].get("DISABLE_SERVER_SIDE_CURSORS")
    if connection.vendor == "postgresql" and not has_plain_cursors:
        fix = 'DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True'
        yield Finding("row-level security", "exports would fail: server-side cursors are on", fix)
    try:
        problems = policies.find_problems()
    except DatabaseError:
        return  # the finding of the database says so
    message = " ".join(problems) or "on"
    yield Finding(
        "row-level security", message, "manage.py assistant_row_level_security install --role ROLE" if problems else ""
    )


def take_out() -> None:
    """Drop the policies, before the tables go."""
    if connection.vendor == "postgresql":
        policies.remove()

"""Counts the queries of a turn by the length of its thread. Runs in the environment of a site."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection

from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import Position
from assistant.services.runs.manager import get_runs
from assistant.services.runs.run_input import parse_input
from assistant.services.tenancy.members import Member, find_member
from benchmarks.site import ASSISTANT, TENANT
from benchmarks.targets import run_input

# Statements of transactions are not counted.
FRAME = ("BEGIN", "SAVEPOINT", "RELEASE", "COMMIT", "ROLLBACK")


async def turn(member: Member, thread: str) -> None:
    """Run one turn to its end."""
    runs = get_runs()
    given = parse_input(json.loads(run_input(thread, "Hello")))
    opened = await runs.open(member=member, assistant_slug=ASSISTANT, given=given)
    log = await runs.log.open(thread)
    with log.watching() as changed:
        while not any(entry.is_end for entry in log.read(Position(opened.key.number, 0))):
            changed.clear()
            await changed.wait()


async def count(threads: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the number of queries of a turn in each of the threads."""
    user = await in_database(lambda: get_user_model().objects.get(username="member-0").pk)
    member = await in_database(find_member, user_id=user, tenant_slug=TENANT)
    assert member is not None
    seen: list[str] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not sql.startswith(FRAME):
            seen.append(sql)
        return execute(sql, params, many, context)

    await turn(member, str(uuid.uuid4()))
    await in_database(lambda: connection.execute_wrappers.append(note))
    counts = {}
    for name, thread in threads:
        seen.clear()
        await turn(member, thread)
        counts[name] = len(seen)
    return counts


def main() -> None:
    """Count for the threads in the first argument, JSON of names and ids, and print the counts as JSON."""
    new = str(uuid.uuid4())
    counts = asyncio.run(count([("new", new), ("two messages", new), *json.loads(sys.argv[1]).items()]))
    print(json.dumps(counts), flush=True)

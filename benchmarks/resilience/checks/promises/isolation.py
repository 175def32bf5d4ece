"""Isolation of tenants and members: ten thousand random tries on each database, by every interface."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import on_postgres, planted, printed

TITLE = "Isolation"
HOW = (
    "Random requests and frames by members of another tenant, a colleague, end users, a user without a tenant and an "
    "anonymous caller, by session, key and token, to every address, frame, MCP method and tool, with ids of others. "
    "Canaries are searched in every byte of the answers, in exports, and in requests to providers, an outside MCP "
    "server and a webhook; the rows are compared: tests/isolation/test_tries.py. Both databases are tried at the same "
    "time."
)
TRIES = 10_000
ON_SQLITE, ON_POSTGRES = "leaks on SQLite", "leaks on PostgreSQL"
FAILED = "tries without a proper answer, on both databases"
# The models whose filters are switched off: all at once, then each of these alone.
ALL = "all rows"
KINDS = ("Conversation", "Message", "Run", "Provider", "ToolSetting")


def break_off() -> None:
    """Every hundredth request over HTTP ends in an error."""
    from django.core.handlers.asgi import ASGIHandler
    from django.http import HttpResponseServerError

    honest, numbers = ASGIHandler.get_response_async, itertools.count(1)

    async def broken(self: ASGIHandler, request: Any) -> Any:
        return HttpResponseServerError() if next(numbers) % 100 == 0 else await honest(self, request)

    ASGIHandler.get_response_async = broken  # type: ignore[assignment, method-assign]


FAULTS = (
    Fault(f"on PostgreSQL the filters of {ALL} are off", ON_POSTGRES),
    *(Fault(f"the filters of {kind} are off", ON_SQLITE) for kind in (ALL, *KINDS)),
    Fault("every hundredth request ends in an error", FAILED, break_off),
)
# A leak ends the tries. Models that few addresses show need many tries until one leaks.
PLANTED_TRIES = 3_000
TEST = "tests/isolation/test_tries.py::test_random_tries_show_and_change_nothing"
_SAID = r"^isolation: (\d+) tries, (\d+) leaks, (\d+) failed; (.*)$"


def measure(testbed: Testbed) -> Sequence[Line]:
    tries = testbed.scaled(TRIES, PLANTED_TRIES if testbed.fault else 300)
    where = {ON_SQLITE: {}, ON_POSTGRES: on_postgres(testbed)}
    if testbed.fault is not None:
        where = {what: env for what, env in where.items() if testbed.fault.misses in (what, FAILED)}
    broken = _broken(testbed.fault)
    env = {"ISOLATION_TRIES": str(tries), **broken}
    with ThreadPoolExecutor() as pool:
        said = list(pool.map(lambda database: printed(_SAID, TEST, env | database), where.values()))
    lines = [_line(what, found, tries, is_planted=bool(broken)) for what, found in zip(where, said, strict=True)]
    return [*lines, Line(FAILED, sum(int(found[0][3]) for found in said if found), "", 0)]


def _broken(fault: Fault | None) -> dict[str, str]:
    """Return the environment in which the tests try a broken application instead of the site."""
    if fault is None:
        return {}
    if fault.plant is not None:
        return {"ISOLATION_APPLICATION": "benchmarks.resilience.planted:application", **planted(fault)}
    kind = next((kind for kind in KINDS if f" {kind} " in fault.what), "")
    return {"ISOLATION_APPLICATION": "tests.isolation.sites.unfiltered_asgi:application", "UNFILTERED": kind}


def _line(what: str, said: Sequence[re.Match[str]], tries: int, *, is_planted: bool) -> Line:
    """Count leaks, and tries that are missing without a leak: tests that did not finish must not hold the goal."""
    made, leaks, beside = (int(said[0][1]), int(said[0][2]), said[0][4]) if said else (0, 0, "not finished")
    unmade = 0 if leaks or is_planted else tries - made
    return Line(what, leaks + unmade, "", 0, beside=f"of {made:,}; {beside}")

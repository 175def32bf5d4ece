"""Tenants and members kept apart: ten thousand requests at random on each database, a thousand tries at the context."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Ground
from benchmarks.resilience.pytests import printed

TITLE = "Isolation"
HOW = (
    "Requests at random by rivals, a colleague, an outsider and nobody, by session and by key, to every address of the "
    "site, with ids that are not theirs; canaries are searched in every answered byte, and the rows compared. Tool "
    "calls, frames and headers under names that look like fields of the context. PostgreSQL's row-level security with "
    "the application's filters switched off: tests/isolation/test_row_security.py."
)
TRIES, CONTEXT_TRIES = 10_000, 1_000
ON_SQLITE, ON_POSTGRES = "leaks on SQLite", "leaks on PostgreSQL"
CONTEXT = "contexts that were moved"
UNFILTERED = "foreign rows with the application's filters off"
LEAKY = "an address forgets whose rows it shows"
BARE = "row-level security is off too"
FAULTS = (Fault(LEAKY, ON_SQLITE), Fault(LEAKY, ON_POSTGRES), Fault(BARE, UNFILTERED))
_SAID = r"^(isolation|context|unfiltered): (\d+) tries, (\d+) (?:leaks|moved)(.*)$"


def measure(ground: Ground) -> Sequence[Line]:
    tries = ground.many(TRIES, 300)
    planted = {"ISOLATION_URLCONF": "tests.isolation.leaky_urls"} if ground.has(LEAKY) else {}
    env = {"ISOLATION_TRIES": str(tries), **planted}
    name = f"isolation_{ground.services.number()}"
    ground.services.postgres.run(f"CREATE DATABASE {name}")
    on_postgres = {
        "TEST_DATABASE_URL": ground.services.postgres.url(name),
        "TEST_REDIS_URL": ground.services.redis.url(ground.services.number()),
    }
    test = "tests/isolation/test_tries.py::test_requests_at_random_show_and_change_nothing"
    lines: list[Line] = []
    if not ground.has(BARE):
        for what, where in ((ON_SQLITE, {}), (ON_POSTGRES, on_postgres)):
            made, bad, beside = _run(test, {**env, **where})
            lines.append(Line(what, bad if made >= tries else tries, "", 0, beside=f"of {made:,}{beside}"))
    if ground.fault is None:
        wanted = ground.many(CONTEXT_TRIES, 40)
        made, bad, beside = _run("tests/isolation/test_context.py", {"CONTEXT_TRIES": str(wanted)})
        lines.append(Line(CONTEXT, bad if made >= wanted else wanted, "", 0, beside=f"of {made:,}{beside}"))
    if ground.fault is None or ground.has(BARE):
        kind = (
            "leaks_where_nothing_holds_it" if ground.has(BARE) else "without_filters_shows_and_changes_no_foreign_row"
        )
        made, bad, beside = _run("tests/isolation/test_row_security.py", on_postgres, "-k", kind)
        lines.append(Line(UNFILTERED, bad if made else 1, "", 0, beside=f"of {made:,} requests{beside}"))
    return lines


def _run(test: str, env: dict[str, str], *options: str) -> tuple[int, int, str]:
    """What a test says of itself: tries, bad ones among them, and more about them; nothing if it broke off."""
    said = printed(_SAID, test, env, *options)
    return (int(said[0][2]), int(said[0][3]), said[0][4]) if said else (0, 0, "")

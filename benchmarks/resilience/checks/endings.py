"""Sockets and streams of whoever loses the right to be here."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Ground
from benchmarks.resilience.pytests import planted, printed

TITLE = "Losing the right to be here"
HOW = (
    "Websockets and event streams by session and by key, a stream of /v1 and one of MCP are open when the session "
    "ends, its user signs out, changes the password or is disabled, the member is removed, the tenant suspended, a "
    "key revoked or expired. What opens after that, or from a foreign page, is refused: tests/isolation/test_endings."
)
LATEST, OPEN = "closed at the latest after", "still open"
UNSEEN = "nobody looks again whether they are welcome"


def look_late() -> None:
    """Whether those who are here are still welcome is asked twice in half a minute."""
    from assistant.services.connections import open_connections

    open_connections.CHECK_SECONDS = 15.0


FAULTS = (
    Fault(UNSEEN, OPEN),
    Fault("whether they are welcome is asked late", LATEST, look_late),
)
_SAID = r"^ending: ([a-z ]+): (\d+) of (\d+) closed within ([\d.]+) s"
LOSSES = 8


def measure(ground: Ground) -> Sequence[Line]:
    env = planted(ground.fault)
    if ground.fault:
        forgetful = "tests.isolation.forgetful_asgi" if ground.has(UNSEEN) else "benchmarks.resilience.planted"
        env["ENDINGS_APPLICATION"] = f"{forgetful}:application"
    which = "disabled" if ground.fault else "all_that_is_open"
    said = printed(_SAID, "tests/isolation/test_endings.py", env, "-k", f"all_that_is_open and {which}")
    # What broke off holds no goal, and catches no fault.
    unsaid = 0 if ground.fault else LOSSES - len(said)
    still_open = sum(int(one[3]) - int(one[2]) for one in said) + unsaid
    latest = max((float(one[4]) for one in said), default=0.0)
    beside = ", ".join(f"{one[1]} {one[4]}" for one in said)
    return [Line(LATEST, latest, "s", 5), Line(OPEN, still_open, "", 0, beside=beside)]

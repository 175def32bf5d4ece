"""Open sockets and streams of callers whose access ends."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import planted, printed

TITLE = "Revoked access"
HOW = (
    "Websockets and event streams by session and by key, a stream of /v1 and one of MCP are open when the session "
    "expires, its user signs out, changes the password or is disabled, the member is removed, the tenant suspended, a "
    "key revoked or expired. They must be closed, and new ones refused: tests/isolation/test_endings."
)
LATEST, OPEN = "slowest to be closed", "connections that stayed open"
UNSEEN = "open connections are not checked again"


def look_late() -> None:
    """Open connections are checked every 15 seconds."""
    from assistant.services.connections import open_connections

    open_connections.CHECK_SECONDS = 15.0


FAULTS = (
    Fault(UNSEEN, OPEN),
    Fault("open connections are checked late", LATEST, look_late),
)
_SAID = r"^ending: ([a-z ]+): (\d+) of (\d+) closed within ([\d.]+) s"
TEST = "tests/isolation/test_endings.py::test_everything_open_ends_after_a_loss_of_access"
LOSSES = 8


def measure(testbed: Testbed) -> Sequence[Line]:
    env = planted(testbed.fault)
    if testbed.fault:
        forgetful = (
            "tests.isolation.sites.forgetful_asgi" if testbed.has_fault(UNSEEN) else "benchmarks.resilience.planted"
        )
        env["ENDINGS_APPLICATION"] = f"{forgetful}:application"
    said = printed(_SAID, f"{TEST}[user disabled]" if testbed.fault else TEST, env)
    # A test that did not finish neither holds the goal nor catches a fault.
    missing = 0 if testbed.fault else LOSSES - len(said)
    still_open = sum(int(one[3]) - int(one[2]) for one in said) + missing
    latest = max((float(one[4]) for one in said), default=0.0)
    beside = ", ".join(f"{one[1]} {one[4]}" for one in said)
    return [Line(LATEST, latest, "s", 5), Line(OPEN, still_open, "", 0, beside=beside)]

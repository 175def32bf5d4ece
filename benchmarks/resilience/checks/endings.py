"""Sockets and streams of whoever loses the right to be here."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Ground
from benchmarks.resilience.pytests import printed

TITLE = "Losing the right to be here"
HOW = (
    "Websockets and event streams by session and by key, a stream of /v1 and one of MCP are open when the session "
    "ends, its user signs out, changes the password or is disabled, the member is removed, the tenant suspended, a "
    "key revoked or expired. What opens after that, or from a foreign page, is refused: tests/isolation/test_endings."
)
LATEST, OPEN = "closed at the latest after", "still open"
UNSEEN = "nobody looks again whether they are welcome"
FAULTS = (Fault(UNSEEN, OPEN),)
_SAID = r"^ending: ([a-z ]+): (\d+) of (\d+) closed within ([\d.]+) s"
LOSSES = 8


def measure(ground: Ground) -> Sequence[Line]:
    env = {"ENDINGS_APPLICATION": "tests.isolation.forgetful_asgi:application"} if ground.has(UNSEEN) else {}
    which = "disabled" if ground.fault else "all_that_is_open"
    said = printed(_SAID, "tests/isolation/test_endings.py", env, "-k", f"all_that_is_open and {which}")
    wanted = 1 if ground.fault else LOSSES
    still_open = sum(int(one[3]) - int(one[2]) for one in said) + (wanted - len(said))
    latest = max((float(one[4]) for one in said), default=0.0)
    beside = ", ".join(f"{one[1]} {one[4]}" for one in said)
    return [Line(LATEST, latest, "s", 5), Line(OPEN, still_open, "", 0, beside=beside)]

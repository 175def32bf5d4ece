"""The context of tool calls, against whatever anybody writes anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import printed

TITLE = "Tool context"
HOW = (
    "Tool calls by websocket, SSE, REST, approvals, /v1 and MCP, with another tenant's names under names that look "
    "like fields, in arguments, frames, headers, query strings, bodies and `_meta`; the tool tells whose call it is: "
    "tests/isolation/test_context.py."
)
TRIES = 1_000
MOVED = "contexts that were moved"
BELIEVING = "a call's arguments say which tenant it is made for"
FAULTS = (Fault(BELIEVING, MOVED),)
_SAID = r"^context: (\d+) tries, (\d+) moved; (.*)$"


def measure(testbed: Testbed) -> Sequence[Line]:
    wanted = testbed.scaled(TRIES, 120)
    planted = {"CONTEXT_INTERCEPTORS": "tests.isolation.careless.believe"} if testbed.has_fault(BELIEVING) else {}
    test = "tests/isolation/test_context.py::test_nothing_that_is_written_moves_the_context"
    said = printed(_SAID, test, {"CONTEXT_TRIES": str(wanted), **planted})
    made, moved, beside = (int(said[0][1]), int(said[0][2]), said[0][3]) if said else (0, 0, "")
    # What broke off holds no goal, and catches no fault.
    return [Line(MOVED, moved if made >= wanted or testbed.fault else wanted, "", 0, beside=f"of {made:,}; {beside}")]

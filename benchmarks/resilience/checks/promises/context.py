"""The context of tool calls against tenant names in every input."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import printed

TITLE = "Tool context"
HOW = (
    "Tool calls by websocket, SSE, REST, approvals, /v1 and MCP, with another tenant's names in fields that look like "
    "parts of the context, in arguments, frames, headers, query strings, bodies and `_meta`; the tool returns whose "
    "call it is: tests/isolation/test_context.py."
)
TEST = "tests/isolation/test_context.py::test_no_input_changes_the_tool_context"
TRIES = 1_000
MOVED = "calls that ran for another tenant or member"
BELIEVING = "the arguments of a call choose its tenant"
FAULTS = (Fault(BELIEVING, MOVED),)
_SAID = r"^context: (\d+) tries, (\d+) moved; (.*)$"


def measure(testbed: Testbed) -> Sequence[Line]:
    wanted = testbed.scaled(TRIES, 120)
    planted = {"CONTEXT_INTERCEPTORS": "tests.isolation.careless.believe"} if testbed.has_fault(BELIEVING) else {}
    said = printed(_SAID, TEST, {"CONTEXT_TRIES": str(wanted), **planted})
    made, moved, beside = (int(said[0][1]), int(said[0][2]), said[0][3]) if said else (0, 0, "")
    # A test that did not finish neither holds the goal nor catches a fault.
    return [Line(MOVED, moved if made >= wanted or testbed.fault else wanted, "", 0, beside=f"of {made:,}; {beside}")]

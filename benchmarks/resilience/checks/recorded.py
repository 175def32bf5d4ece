"""A whole recorded session, searched for what only the program and its owner may know."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import printed

TITLE = "Secrets in a recorded session"
HOW = (
    "Members talk by every door and look at every address, admins at every page; frames, answers, logs in both forms "
    "at DEBUG, spans, webhooks, and what both tenants' providers and an outside MCP server were sent are searched for "
    "the prompt, tools' settings, every encrypted field and the other tenant's tools: tests/isolation/test_recorded.py."
)
BREACHES = "canaries where they are not meant to be"
FAULTS = tuple(Fault(what, BREACHES) for what in ("echoes the context", "logs the prompt", "traces the prompt"))
TEST = "tests/isolation/test_recorded.py::test_a_whole_session_tells_nobody_what_they_may_not_know"
_SAID = r"^recorded: (\d+) bytes in (\d+) parts, (\d+) breaches, (.*)$"


def measure(testbed: Testbed) -> Sequence[Line]:
    # Carelessness shows in what is said: nobody need look around.
    env = {"RECORDED_CARELESS": testbed.fault.what} if testbed.fault else {"RECORDED_WHOLE": "yes"}
    said = printed(_SAID, TEST, env)
    if not said:
        # Neither goal nor fault: whatever broke off has shown nothing.
        return [Line(BREACHES, 0 if testbed.fault else 1, "", 0, beside="it broke off")]
    return [Line(BREACHES, int(said[0][3]), "", 0, beside=f"in {int(said[0][1]):,} bytes of {said[0][2]} parts")]

"""A recorded session, searched for secrets and for other tenants' data."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import printed

TITLE = "Secrets in a recorded session"
HOW = (
    "Members use every interface and address, admins every page. Frames, answers, logs in both formats at DEBUG, "
    "spans, webhooks, and requests to both tenants' providers and to an external MCP server are searched for the "
    "prompt, the settings of tools, every encrypted field and the other tenant's tools: "
    "tests/isolation/test_recorded.py."
)
BREACHES = "canaries found where they must not be"
FAULTS = tuple(Fault(what, BREACHES) for what in ("echoes the context", "logs the prompt", "traces the prompt"))
TEST = "tests/isolation/test_recorded.py::test_a_recorded_session_holds_no_secret_where_it_must_not_be"
_SAID = r"^recorded: (\d+) bytes in (\d+) parts, (\d+) breaches, (.*)$"


def measure(testbed: Testbed) -> Sequence[Line]:
    # Planted faults show in the conversation, so the pages need not be visited.
    env = {"RECORDED_CARELESS": testbed.fault.what} if testbed.fault else {"RECORDED_WHOLE": "yes"}
    said = printed(_SAID, TEST, env)
    if not said:
        # A test that did not finish neither holds the goal nor catches a fault.
        return [Line(BREACHES, 0 if testbed.fault else 1, "", 0, beside="not finished")]
    return [Line(BREACHES, int(said[0][3]), "", 0, beside=f"in {int(said[0][1]):,} bytes of {said[0][2]} parts")]

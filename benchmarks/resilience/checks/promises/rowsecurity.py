"""PostgreSQL's row-level security, with the application's own filters switched off."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import on_postgres, printed

TITLE = "Row-level security"
HOW = (
    "An admin of another tenant requests every address, and a member every method of MCP and every frame of the "
    "websocket, on a site whose queries do not filter by tenant, with a database role that the policies apply to: "
    "tests/isolation/test_unfiltered_site.py."
)
UNFILTERED = "foreign rows with the application's filters off"
BARE = "row-level security is off too"
TEST = "tests/isolation/test_unfiltered_site.py::test_a_site_without_filters_shows_and_changes_no_foreign_row"
TEST_WITHOUT_POLICIES = "tests/isolation/test_unfiltered_site.py::test_a_site_without_filters_leaks_without_policies"
FAULTS = (Fault(BARE, UNFILTERED),)
_SAID = r"^unfiltered: (\d+) tries, (\d+) leaks$"


def measure(testbed: Testbed) -> Sequence[Line]:
    said = printed(_SAID, TEST_WITHOUT_POLICIES if testbed.has_fault(BARE) else TEST, on_postgres(testbed))
    made, found = (int(said[0][1]), int(said[0][2])) if said else (0, 0)
    # A test that did not finish neither holds the goal nor catches a fault.
    return [Line(UNFILTERED, found if made or testbed.fault else 1, "", 0, beside=f"of {made:,} requests")]

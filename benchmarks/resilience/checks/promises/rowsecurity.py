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
    "tests/isolation/test_row_security.py."
)
UNFILTERED = "foreign rows with the application's filters off"
BARE = "row-level security is off too"
FAULTS = (Fault(BARE, UNFILTERED),)
_SAID = r"^unfiltered: (\d+) tries, (\d+) leaks$"


def measure(testbed: Testbed) -> Sequence[Line]:
    kind = (
        "leaks_where_nothing_holds_it"
        if testbed.has_fault(BARE)
        else "without_filters_shows_and_changes_no_foreign_row"
    )
    said = printed(_SAID, "tests/isolation/test_row_security.py", on_postgres(testbed), "-k", kind)
    made, found = (int(said[0][1]), int(said[0][2])) if said else (0, 0)
    # A test that did not finish neither holds the goal nor catches a fault.
    return [Line(UNFILTERED, found if made or testbed.fault else 1, "", 0, beside=f"of {made:,} requests")]

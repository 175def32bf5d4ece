"""PostgreSQL's row-level security as the second line, with the application's own filters switched off."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report import Line
from benchmarks.resilience.check import Fault, Testbed
from benchmarks.resilience.pytests import on_postgres, printed

TITLE = "Row-level security"
HOW = (
    "A rival's admin asks every address, and a rival every method of MCP and every frame of a websocket, of a site "
    "whose queries name no tenant any more, as a role that the policies hold: tests/isolation/test_row_security.py."
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
    # What broke off holds no goal, and catches no fault.
    return [Line(UNFILTERED, found if made or testbed.fault else 1, "", 0, beside=f"of {made:,} requests")]

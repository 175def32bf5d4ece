"""What was seen at limits: the figures of all kinds of them are the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from benchmarks.report import Line
from benchmarks.resilience.sites import Site

ABOVE, BELOW, UNTYPED, UNTRUE = (
    "let in above a limit",
    "refused below a limit",
    "refusals without type or time",
    "moments of refusals that are not true",
)
# So much is let in under each limit.
LIMIT = 7


@dataclass(slots=True)
class Seen:
    """What was wrong, by figure and limit, and how many limits and tries there were."""

    wrong: dict[str, Counter[str]] = field(
        default_factory=lambda: {what: Counter() for what in (ABOVE, BELOW, UNTYPED, UNTRUE)}
    )
    limits: int = 0
    tries: int = 0

    def line(self, what: str) -> Line:
        """A figure, and beside it the limits that it was wrong for."""
        found = +self.wrong[what]
        beside = f"of {self.limits} limits, {self.tries} tries"
        if found:
            beside += f": {', '.join(f'{name} {count}' for name, count in found.items())}"
        return Line(what, found.total(), "", 0, beside=beside)


def named(site: Site, limit: str) -> str:
    """A limit, and the database that it was tried on."""
    return f"{limit} ({site.kind})"

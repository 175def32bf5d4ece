"""The figures that all kinds of limits share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from benchmarks.report import Line
from benchmarks.resilience.sites import Site

ABOVE, BELOW, UNTYPED, UNTRUE = (
    "admitted above a limit",
    "refused below a limit",
    "refusals without code or retry time",
    "refusals with a wrong retry time",
)
# How much each limit admits.
LIMIT = 7


@dataclass(slots=True)
class Seen:
    """How much was wrong, by figure and limit, and how many limits and tries there were."""

    wrong: dict[str, Counter[str]] = field(
        default_factory=lambda: {what: Counter() for what in (ABOVE, BELOW, UNTYPED, UNTRUE)}
    )
    limits: int = 0
    tries: int = 0

    def line(self, what: str) -> Line:
        """Return a figure, with the limits for which it was not zero."""
        found = +self.wrong[what]
        beside = f"of {self.limits} limits, {self.tries} tries"
        if found:
            beside += f": {', '.join(f'{name} {count}' for name, count in found.items())}"
        return Line(what, found.total(), "", 0, beside=beside)


def named(site: Site, limit: str) -> str:
    """Return the name of a limit with the database that it was tried on."""
    return f"{limit} ({site.kind})"

"""What is measured of runs: names, texts, and how each is computed from sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from assistant.core.values.pricing import MILLIONTHS

Unit = Literal["percent", "seconds", "cost", "number"]
Sums = Mapping[str, int]
# The fields of `DaySum` that are added up.
SUMMED = (
    "runs", "answers", "thumbs_up", "thumbs_down", "asked_again", "edited", "stopped", "failed", "cut", "refused",
    "nothing_found", "calls", "failed_calls", "first_word_runs", "first_word_ms", "whole_ms", "cost",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """One measure: a sum divided by another one, times `scale`.

    Attributes:
        by: the sum that divides; "" for none.
        is_warned: whether a step up of it is a warning.
    """

    slug: str
    name: str | Promise
    about: str | Promise
    of: str
    by: str
    unit: Unit
    is_warned: bool = False

    def value(self, sums: Sums) -> float | None:
        """Return its value of some sums; None where there is nothing to divide by."""
        if not self.by:
            return self._scaled(sums[self.of])
        return self._scaled(sums[self.of] / sums[self.by]) if sums[self.by] else None

    def _scaled(self, number: float) -> float:
        return number * {"percent": 100, "seconds": 0.001, "cost": 1 / MILLIONTHS, "number": 1}[self.unit]


DISLIKED = Measure(
    "disliked", _("Disliked"), _("Ratings “not helpful”, of all runs"), "thumbs_down", "runs", "percent", True
)
FAILED = Measure("failed", _("Failed"), _("Runs that failed or were interrupted"), "failed", "runs", "percent", True)
MEASURES = (
    DISLIKED,
    FAILED,
    Measure(
        "asked-again", _("Asked again"), _("Another answer to the same question was asked for"),
        "asked_again", "runs", "percent", True,
    ),
    Measure("edited", _("Edited"), _("The question was changed and sent again"), "edited", "runs", "percent", True),
    Measure("stopped", _("Stopped"), _("Somebody stopped the answer"), "stopped", "runs", "percent", True),
    Measure("cut", _("Cut off"), _("At its limit or by the provider"), "cut", "runs", "percent", True),
    Measure("refused", _("Tool refused"), _("A rule refused a tool call"), "refused", "runs", "percent", True),
    Measure(
        "nothing-found", _("Nothing found"), _("All searches of documents found nothing"),
        "nothing_found", "runs", "percent", True,
    ),
    Measure("liked", _("Liked"), _("Ratings “helpful”, of all runs"), "thumbs_up", "runs", "percent"),
    Measure(
        "first-word", _("First word"), _("Seconds until it, on average"), "first_word_ms", "first_word_runs", "seconds"
    ),
    Measure("whole", _("Whole answer"), _("Seconds until its end, on average"), "whole_ms", "answers", "seconds"),
    Measure("cost", _("Cost of a run"), _("By the providers' prices"), "cost", "runs", "cost"),
    Measure("runs", _("Runs"), _("That have ended, without tests"), "runs", "", "number"),
)  # fmt: skip
BY_SLUG = {measure.slug: measure for measure in MEASURES}


def is_step(bad: int, runs: int, earlier_bad: int, earlier_runs: int, *, points: float, deviations: float) -> bool:
    """Return whether a share of runs is higher than the earlier one, by so many points and deviations of chance.

    Args:
        points: as a part of 1.
    """
    difference = bad / runs - earlier_bad / earlier_runs
    return difference >= points and deviations_between(bad, runs, earlier_bad, earlier_runs) >= deviations


def deviations_between(bad: int, runs: int, earlier_bad: int, earlier_runs: int) -> float:
    """Return by how many standard deviations of chance a share of runs is above an earlier one."""
    # One more of each kind, so that a past without any does not make a single one significant.
    pooled = (bad + earlier_bad + 1) / (runs + earlier_runs + 2)
    deviation = math.sqrt(pooled * (1 - pooled) * (1 / runs + 1 / earlier_runs))
    return (bad / runs - earlier_bad / earlier_runs) / deviation

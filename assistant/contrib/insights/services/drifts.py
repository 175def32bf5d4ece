"""Tells what became worse day by day from what became worse on one day."""

from __future__ import annotations

import math
from collections.abc import Sequence

# A slope is at least so long, and its ends are tried every fourth day.
LEAST_DAYS = 12
EVERY = 4
_EDGE = 0.001


def best_slope(days: Sequence[tuple[int, int]]) -> tuple[float, int]:
    """Return the logarithm of the likelihood of the slope that fits best, and the index of the day on which it begins.

    Args:
        days: of each day the bad runs and all.
    """
    best = (-math.inf, 0)
    for begin in range(0, len(days) - LEAST_DAYS + 1, EVERY):
        for end in range(begin + LEAST_DAYS, len(days) + 1, EVERY):
            slope = [min(1.0, max(0.0, (place - begin + 0.5) / (end - begin))) for place in range(len(days))]
            best = max(best, (_likelihood(days, slope), begin))
    return best


def _likelihood(days: Sequence[tuple[int, int]], slope: Sequence[float]) -> float:
    """Return the logarithm of the likelihood of the line along a slope that fits best, by least squares.

    Minus infinity where it goes down.
    """
    low, high = _ends(days, slope)
    if high <= low:
        return -math.inf
    total = 0.0
    for (bad, runs), part in zip(days, slope, strict=True):
        share = min(1 - _EDGE, max(_EDGE, low + (high - low) * part))
        total += bad * math.log(share) + (runs - bad) * math.log(1 - share)
    return total


def _ends(days: Sequence[tuple[int, int]], slope: Sequence[float]) -> tuple[float, float]:
    """Return the shares at the foot and at the top of a slope."""
    of_low = of_high = of_both = bad_low = bad_high = 0.0
    for (bad, runs), part in zip(days, slope, strict=True):
        rest = 1 - part
        of_low += runs * rest * rest
        of_high += runs * part * part
        of_both += runs * part * rest
        bad_low += bad * rest
        bad_high += bad * part
    divisor = of_low * of_high - of_both**2
    if divisor <= 0:
        return 0.0, 0.0
    return (bad_low * of_high - bad_high * of_both) / divisor, (bad_high * of_low - bad_low * of_both) / divisor

"""The kinds of quotas (per minute, day and month), and when these windows begin and end."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Literal

Scope = Literal["tenant", "member"]
Window = Literal["minute", "day", "month"]


@dataclass(frozen=True, slots=True)
class Quota:
    """The quotas of one scope; 0 is no limit. Costs are in millionths."""

    scope: Scope
    messages_per_minute: int = 0
    messages_per_day: int = 0
    tokens_per_day: int = 0
    tokens_per_month: int = 0
    cost_per_day: int = 0
    cost_per_month: int = 0
    tool_calls_per_day: int = 0
    connections: int = 0
    runs: int = 0

    @property
    def is_counted(self) -> bool:
        """Whether there is a quota that is counted in the database: any except `connections` and `runs`."""
        return any(getattr(self, name) for name in COUNTED)


@dataclass(frozen=True, slots=True)
class LimitUse:
    """How much of a limit is used, both in the limit's unit.

    Every page, warning and threshold relates a use to its limit by this class, so that they say the same. `limit` is
    above 0: 0 is no limit.
    """

    used: int
    limit: int

    @property
    def percent(self) -> int:
        """The used part in whole per cent, rounded down; above 100 where more was used than the limit allows."""
        return 100 * self.used // self.limit

    def has_reached(self, percent: int) -> bool:
        """Whether at least `percent` per cent are used. From 100 on the limit refuses."""
        return 100 * self.used >= percent * self.limit


WINDOWS: tuple[Window, ...] = ("minute", "day", "month")
NAMES = tuple(field.name for field in fields(Quota) if field.name != "scope")
COUNTED = tuple(name for name in NAMES if name not in {"connections", "runs"})


def window_of(name: str) -> tuple[str, Window]:
    """Return what a counted quota counts, and in which window: `messages_per_day` gives `messages` and `day`.

    Raises:
        ValueError: the name is not one of `COUNTED`.
    """
    what, _, window = name.partition("_per_")
    for known in WINDOWS:
        if window == known:
            return what, known
    raise ValueError(f"{name} is not a quota that is counted in the database.")


@dataclass(frozen=True, slots=True)
class Windows:
    """When the current minute, day and month began; days and months are in UTC."""

    minute: datetime
    day: datetime
    month: datetime

    @classmethod
    def at(cls, moment: datetime) -> Windows:
        minute = moment.replace(second=0, microsecond=0)
        day = minute.replace(hour=0, minute=0)
        return cls(minute, day, day.replace(day=1))

    def end(self, window: Window) -> datetime:
        """Return when a window ends and its counter starts from zero."""
        if window == "minute":
            return self.minute + timedelta(minutes=1)
        if window == "day":
            return self.day + timedelta(days=1)
        return (self.month + timedelta(days=31)).replace(day=1)

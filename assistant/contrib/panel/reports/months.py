"""Calendar months in UTC, as limits count them."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

_TEXT = re.compile(r"(20[0-9]{2})-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class Month:
    """A calendar month in UTC, by its first day."""

    first: date

    @classmethod
    def of(cls, moment: datetime) -> Month:
        return cls(moment.astimezone(UTC).date().replace(day=1))

    @classmethod
    def read(cls, text: str, *, now: datetime) -> Month:
        """Return the month of a text such as "2026-11"; the present one if it names none from 2000 to the present."""
        present, found = cls.of(now), _TEXT.fullmatch(text)
        first = present.first if found is None else date(int(found[1]), int(found[2]), 1)
        return cls(min(first, present.first))

    def __str__(self) -> str:
        return f"{self.first:%Y-%m}"

    @property
    def begin(self) -> datetime:
        return datetime.combine(self.first, time.min, UTC)

    @property
    def end(self) -> datetime:
        """The first moment of the following month."""
        return self.begin + timedelta(days=len(self.days))

    @property
    def days(self) -> Sequence[date]:
        count = monthrange(self.first.year, self.first.month)[1]
        return [self.first + timedelta(days=number) for number in range(count)]

    @property
    def previous(self) -> Month:
        return Month((self.first - timedelta(days=1)).replace(day=1))

    @property
    def following(self) -> Month:
        return Month(self.end.date())

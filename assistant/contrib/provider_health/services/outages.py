"""Finds the outages of models in hours: times in which each hour has many runs that they did not answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from assistant.contrib.provider_health.services.answers import FAILING_RUNS, Answers, AskedModel

# Of an hour's runs so large a part at least: an outage of a quarter of an hour is one too.
OUTAGE_SHARE = 0.2
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Outage:
    """Hours on end in which a model did not answer many of its runs; `until` is the end of the last."""

    asked: AskedModel
    since: datetime
    until: datetime
    answers: Answers


def outages(hours: Mapping[datetime, Mapping[AskedModel, Answers]]) -> list[Outage]:
    """Return the outages, the newest first."""
    found: list[Outage] = []
    going_on: dict[AskedModel, Outage] = {}
    for hour in sorted(hours):
        for asked, answers in hours[hour].items():
            if answers.unanswered < max(FAILING_RUNS, OUTAGE_SHARE * answers.runs):
                continue
            before = going_on.get(asked)
            if before is not None and before.until == hour:
                going_on[asked] = Outage(asked, before.since, hour + HOUR, before.answers + answers)
            else:
                found += [before] if before is not None else []
                going_on[asked] = Outage(asked, hour, hour + HOUR, answers)
    return sorted([*found, *going_on.values()], key=lambda one: one.since, reverse=True)

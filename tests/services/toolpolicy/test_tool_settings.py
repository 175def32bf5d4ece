"""A tool's stored settings are of the types that it declares: nothing is made into something else."""

from __future__ import annotations

import datetime as dt
import enum
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr, field_validator

from assistant.services.toolpolicy.switch_query import read_config
from assistant.toolkit import Tool, tool
from assistant.toolkit.calls import gate


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


NO_DATE = (
    'Input should be a valid date in the format YYYY-MM-DD, Timestamp is not an exact date; write it as "2031-03-07".'
)


class Settings(BaseModel):
    since: dt.datetime | None = None
    day: dt.date | None = None
    most: int = 5
    rate: float = 0.5
    is_careful: bool = False
    level: Level = Level.LOW
    days: list[dt.date] = []
    word: SecretStr = SecretStr("")


@tool(config=Settings)
def report() -> str:
    """Report."""
    return "Done."


@pytest.mark.parametrize(
    ("stored", "sentence"),
    [
        ({"since": "20310307"}, 'since: must be a date and time, such as "2031-03-07T10:30:00".'),
        ({"since": 20310307}, 'since: Input should be a valid datetime; write it as "2031-03-07T10:30:00".'),
        ({"day": "20310307"}, f"day: {NO_DATE}"),
        ({"days": ["20310307"]}, f"days.0: {NO_DATE}"),
        ({"most": True}, "most: Input should be a valid integer."),
        ({"most": "7"}, "most: Input should be a valid integer."),
        ({"is_careful": 1}, "is_careful: Input should be a valid boolean."),
    ],
)
def test_a_setting_of_another_type_is_refused_with_the_right_form(stored: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        read_config(report, [{}, stored])
    assert str(refused.value) == sentence


def test_true_is_no_number_of_an_enumeration() -> None:
    with pytest.raises(ValueError, match=r"^level: "):
        read_config(report, [{"level": True}])


def test_a_refused_setting_is_not_repeated() -> None:
    with pytest.raises(ValueError, match="since: ") as refused:
        read_config(report, [{"since": "77777777", "day": "88888888", "word": ["canary"], "level": "canary"}])
    assert not any(value in str(refused.value) for value in ("77777777", "88888888", "canary"))


def test_settings_of_the_declared_types_are_read() -> None:
    stored = {"since": "2031-03-07T10:30:00", "day": "2031-03-07", "rate": 1, "level": 2, "days": ["2031-03-08"]}
    read = read_config(report, [{"most": 9}, json.loads(json.dumps(stored))])
    assert (read.since, read.day) == (dt.datetime(2031, 3, 7, 10, 30), dt.date(2031, 3, 7))
    assert (read.most, read.rate, read.level, read.days) == (9, 1.0, Level.HIGH, [dt.date(2031, 3, 8)])


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Tool, threading.Event]]:
    """A tool whose settings are validated until the event is set."""
    monkeypatch.setattr(gate, "CHECK_SECONDS", 0.2)
    answered = threading.Event()

    class Rates(BaseModel):
        currency: str = "EUR"

        @field_validator("currency")
        @classmethod
        def is_known(cls, value: str) -> str:
            answered.wait(20)
            return value

    @tool(config=Rates)
    def convert() -> str:
        """Convert."""
        return "Done."

    yield convert, answered
    answered.set()


def test_a_validator_of_settings_has_a_bounded_time(slow: tuple[Tool, threading.Event]) -> None:
    convert, answered = slow
    for _ in range(gate.MAX_HANGING):
        with pytest.raises(ValueError, match=r"convert: config took longer than \d"):
            read_config(convert, [{"currency": "USD"}])
    with pytest.raises(ValueError, match="convert: config is not called: 2 calls of it still run"):
        read_config(convert, [{"currency": "USD"}])
    answered.set()
    while gate._hanging["convert.config (config)"]:
        answered.wait()
    assert read_config(convert, [{"currency": "USD"}]).currency == "USD"


def test_what_a_validator_of_settings_says_is_told(slow: tuple[Tool, threading.Event]) -> None:
    convert, answered = slow
    answered.set()
    with pytest.raises(ValueError, match=r"^currency: Input should be a valid string"):
        read_config(convert, [{"currency": 7}])

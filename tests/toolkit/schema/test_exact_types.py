"""A tool's arguments are of the types that it declares: nothing is silently made into something else."""

from __future__ import annotations

import datetime as dt
import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    Field,
    FutureDatetime,
    IPvAnyAddress,
    NaiveDatetime,
)
from typing_extensions import TypeAliasType, TypedDict

from assistant.client import ChatClient, Decision, ToolCall
from assistant.core.llm.typed_output import InvalidOutput, OutputType
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import InvalidArguments, Tool, tool


class Event(BaseModel):
    at: dt.datetime


class Note(BaseModel):
    text: str


@dataclass
class Slot:
    on: dt.date


class Row(TypedDict):
    at: dt.datetime


class Tree(BaseModel):
    at: dt.datetime
    trees: list[Tree] = []


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


Moment = TypeAliasType("Moment", dt.datetime)


def tool_of(kind: Any) -> Tool:
    """Return a tool with one parameter of a type."""

    def take(value: Any) -> None:
        """Take a value."""

    take.__annotations__["value"] = kind
    return Tool.from_function(take)


def problem(kind: Any, value: Any) -> dict[str, str]:
    """Return what is wrong with a value for a type, by its path."""
    with pytest.raises(InvalidArguments) as refused:
        tool_of(kind).check({"value": value})
    return refused.value.fields


DATE = 'must be a date, such as "2031-03-07"'
DATETIME = 'must be a date and time, such as "2031-03-07T10:30:00"'
ZONED = 'must be a date and time with its offset, such as "2031-03-07T10:30:00+01:00"'


@pytest.mark.parametrize("digits", ["20310307", "1772841600", "0", "-1", "+86400", "1.5", "203103071030"])
def test_digits_are_no_date_and_time(digits: str) -> None:
    assert problem(dt.datetime, digits) == {"value": DATETIME}


def test_the_model_reads_the_right_form() -> None:
    with pytest.raises(InvalidArguments) as refused:
        tool_of(dt.datetime).check('{"value": "20310307"}')
    assert str(refused.value) == f"Invalid arguments. value: {DATETIME}."


@pytest.mark.parametrize(
    ("kind", "value", "path", "sentence"),
    [
        (dt.date, "86400", "value", DATE),
        (dt.date, "0", "value", DATE),
        (AwareDatetime, "20310307", "value", ZONED),
        (dt.datetime | None, "20310307", "value", DATETIME),
        (dt.datetime | str, "20310307", "value", DATETIME),
        (str | dt.datetime, "20310307", "value", DATETIME),
        (int | dt.datetime, "20310307", "value", DATETIME),
        (Moment | str, "20310307", "value", DATETIME),
        (Annotated[dt.datetime, Field(gt=dt.datetime(1960, 1, 1, tzinfo=dt.UTC))], "20310307", "value", DATETIME),
        (Annotated[dt.datetime, Field(gt=dt.datetime(2000, 1, 1, tzinfo=dt.UTC))], "20310307", "value", DATETIME),
        (NaiveDatetime, "20310307", "value", DATETIME),
        (FutureDatetime, "20310307", "value", DATETIME),
        (Annotated[dt.datetime, AfterValidator(lambda value: value)], "20310307", "value", DATETIME),
        (list[dt.datetime], ["2031-03-07T10:00:00", "20310307"], "value.1", DATETIME),
        (tuple[str, dt.datetime], ["a", "20310307"], "value.1", DATETIME),
        (set[dt.date], ["0"], "value.0", DATE),
        (dict[str, dt.datetime], {"a": "20310307"}, "value.a", DATETIME),
        (dict[dt.datetime, int], {"20310307": 1}, "value", f"each name {DATETIME}"),
        (Event, {"at": "20310307"}, "value.at", DATETIME),
        (Slot, {"on": "86400"}, "value.on", DATE),
        (Row, {"at": "20310307"}, "value.at", DATETIME),
        (Tree, {"at": "2031-03-07T10:00:00", "trees": [{"at": "20310307"}]}, "value.trees.0.at", DATETIME),
        (Note | Event, {"at": "20310307"}, "value.at", DATETIME),
        (Event | Note | None, {"at": "20310307"}, "value.at", DATETIME),
        (Sequence[Mapping[str, Event]], [{"a": {"at": "20310307"}}], "value.0.a.at", DATETIME),
    ],
)
def test_digits_are_no_moment_wherever_one_stands(kind: Any, value: Any, path: str, sentence: str) -> None:
    assert problem(kind, value) == {path: sentence}


def test_either_of_two_forms_is_shown() -> None:
    sentence = problem(dt.date | dt.datetime, "20310307")["value"]
    assert '"2031-03-07"' in sentence and '"2031-03-07T10:30:00"' in sentence


@pytest.mark.parametrize(
    ("kind", "value", "form"),
    [
        (dt.datetime, "07.03.2031", '"2031-03-07T10:30:00"'),
        (dt.datetime, 20310307, '"2031-03-07T10:30:00"'),
        (dt.date, "7 March", '"2031-03-07"'),
        (dt.date, "2031-03-07T10:30:00", '"2031-03-07"'),
        (AwareDatetime, "2031-03-07T10:30:00", '"2031-03-07T10:30:00+01:00"'),
        (dt.time, "half past ten", '"10:30:00"'),
        (dt.timedelta, "3600", '"PT1H30M"'),
    ],
)
def test_what_is_no_moment_is_refused_with_the_right_form(kind: Any, value: Any, form: str) -> None:
    assert form in problem(kind, value)["value"]


@pytest.mark.parametrize(
    ("kind", "value", "taken"),
    [
        (dt.datetime, "2031-03-07T10:30", dt.datetime(2031, 3, 7, 10, 30)),
        (NaiveDatetime, "2031-03-07 10:30:00", dt.datetime(2031, 3, 7, 10, 30)),
        (dt.date | dt.datetime, "2031-03-07", dt.date(2031, 3, 7)),
        (dt.date | None, None, None),
        (dt.datetime | str, "tomorrow", "tomorrow"),
        (int | dt.datetime, 20310307, 20310307),
        (str, "20310307", "20310307"),
        (Event | Note, {"text": "20310307"}, Note(text="20310307")),
        (Annotated[dt.date, BeforeValidator(lambda text: dt.date(2031, 3, int(text)))], "7", dt.date(2031, 3, 7)),
        (Level, 2, Level.HIGH),
        (Literal[1, "a"], 1, 1),
        (dict[dt.date, int], {"2031-03-07": 1}, {dt.date(2031, 3, 7): 1}),
    ],
)
def test_what_is_of_the_type_is_taken(kind: Any, value: Any, taken: Any) -> None:
    assert tool_of(kind).check({"value": value}) == {"value": taken}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Level, True),
        (Literal[1, 2], True),
        (Literal[0], False),
        (IPvAnyAddress, 2130706433),
        (IPvAnyAddress, True),
        (complex, 1),
        (list[Level], [True]),
    ],
)
def test_a_value_of_another_type_is_refused(kind: Any, value: Any) -> None:
    assert problem(kind, value)


def test_all_wrong_fields_are_named_at_once() -> None:
    @tool
    def plan(day: dt.date, at: dt.datetime, seats: int) -> None:
        """Plan."""

    with pytest.raises(InvalidArguments) as refused:
        plan.check('{"day": "0", "at": "20310307", "seats": "many"}')
    assert refused.value.fields.keys() == {"day", "at", "seats"}


def test_one_object_as_the_input_is_checked_too() -> None:
    @tool(input_type=Event)
    def note(event: Event) -> None:
        """Note an event."""

    with pytest.raises(InvalidArguments, match="2031-03-07T10:30:00"):
        note.check('{"at": "20310307"}')


async def test_arguments_that_a_person_has_edited_are_checked_too() -> None:
    @tool(requires_approval=True)
    def plan(at: dt.datetime) -> str:
        """Plan."""
        return at.isoformat()

    call = ToolCall("", "plan", '{"at": "2031-03-07T10:30:00"}')
    client = ChatClient(model=ScriptedModel([call, "Done."]), tools=[plan])
    waiting = await client.call("Plan it")
    decisions = {call.id: Decision(True, edited_arguments={"at": "20310307"}) for call in waiting.pending}
    reply = await client.call(history=waiting.messages, decisions=decisions)
    (result,) = (message.content for message in reply.messages if message.role == "tool")
    assert DATETIME in result


def test_arguments_that_are_too_many_to_check_are_refused() -> None:
    with pytest.raises(InvalidArguments, match="too large"):
        tool_of(list[dt.date | int]).check(json.dumps({"value": [1] * 60_000}))


@pytest.mark.parametrize("kind", [Event, list[dt.datetime], dt.datetime])
def test_a_typed_answer_of_digits_is_repaired(kind: Any) -> None:
    wrapped = {Event: {"at": "20310307"}, dt.datetime: {"value": "20310307"}}
    text = json.dumps(wrapped.get(kind, {"value": ["20310307"]}))
    with pytest.raises(InvalidOutput, match="2031-03-07T10:30:00"):
        OutputType(kind).parse(text)
    assert OutputType(kind).parse_partial(text) is None


async def test_a_model_that_answers_with_digits_is_asked_again() -> None:
    model = ScriptedModel(['{"at": "20310307"}', '{"at": "2031-03-07T10:30:00"}'])
    reply = await ChatClient(model=model).call("When?", output_type=Event)
    assert reply.output == Event(at=dt.datetime(2031, 3, 7, 10, 30))
    assert 'such as "2031-03-07T10:30:00"' in model.requests[1].messages[-1].content

"""Validators of a tool's author: an awaitable is no value, and what may wait runs in a thread."""

from __future__ import annotations

import asyncio
import functools
import gc
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    PrivateAttr,
    SecretStr,
    WrapValidator,
    field_validator,
    model_validator,
)

from assistant.client import Agent, Cache, ChatClient, FixedToolset, RunFailed, ToolCall
from assistant.providers import ScriptedModel
from assistant.services.toolpolicy.switch_query import read_config
from assistant.testing.tool_tester import ToolTester
from assistant.toolkit import InvalidArguments, InvalidTool, Tool, ToolContext
from assistant.toolkit.calls import gate
from assistant.toolkit.calls.gate import NoAnswer
from tests.core.scripted_turns import run_script
from tests.core.toolcalls.test_batch import call

CONTEXT = ToolContext()
MAIN = threading.main_thread()


@pytest.fixture(autouse=True)
def awaited() -> Iterator[None]:
    """No test forgets a coroutine."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(one.message) for one in heard if "never awaited" in str(one.message)] == []


async def look_up(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


def tool_of(annotation: Any) -> Tool:
    def count(number: annotation) -> str:  # type: ignore[valid-type]
        """Count."""
        return f"{number}"

    return Tool.from_function(count, localns=locals())


class Line(BaseModel):
    amount: int

    @field_validator("amount")
    @classmethod
    def check_amount(cls, value: int) -> Any:
        return look_up(value)


class Order(BaseModel):
    lines: list[Line]
    by_name: dict[str, Line] = {}


@dataclass
class Box:
    size: int
    tag: Any = None

    def __post_init__(self) -> None:
        self.tag = look_up(self.size)


AWAITABLES = {
    "after": (Annotated[int, AfterValidator(lambda value: look_up(value))], 1, "number"),  # noqa: PLW0108 - not async itself
    "before": (Annotated[int, BeforeValidator(lambda value: look_up(value))], 1, "number"),  # noqa: PLW0108
    "plain": (Annotated[int, PlainValidator(lambda value: look_up(value))], 1, "number"),  # noqa: PLW0108
    "wrap": (Annotated[int, WrapValidator(lambda value, handler: look_up(handler(value)))], 1, "number"),
    "wrap before": (Annotated[int, WrapValidator(lambda value, handler: handler(look_up(value)))], 1, "number"),
    "item": (list[Annotated[int, AfterValidator(lambda value: look_up(value))]], [1, 2], "number."),  # noqa: PLW0108
    "list": (Order, {"lines": [{"amount": 1}]}, "number.lines.0.amount"),
    "dict": (Order, {"lines": [], "by_name": {"a": {"amount": 1}}}, "number.by_name.a.amount"),
    "dataclass": (Box, {"size": 1}, "number.tag"),
}


@pytest.mark.parametrize("kind", AWAITABLES)
async def test_an_awaitable_among_the_arguments_is_refused_by_name(kind: str) -> None:
    annotation, value, path = AWAITABLES[kind]
    counting = tool_of(annotation)
    for refused in (lambda: counting.call({"number": value}, CONTEXT), lambda: counting.checked({"number": value})):
        with pytest.raises(NoAnswer, match=f"Tool 'count': the validator of '{path}.*gave an awaitable"):
            await refused()
    with pytest.raises(NoAnswer, match="gave an awaitable"):
        counting.check({"number": value})


async def test_a_call_with_one_is_refused_and_the_log_says_why(caplog: pytest.LogCaptureFixture) -> None:
    turn = await run_script([call("count", '{"number": 1}'), "ok"], tool_of(AWAITABLES["after"][0]))
    assert turn.journal.statuses == {"count": "refused"}
    assert "Tool 'count': the validator of 'number' gave an awaitable" in caplog.text


class Totals(BaseModel):
    total: int = 0

    @model_validator(mode="after")
    async def check_total(self) -> Totals:
        return self


class Posts(BaseModel):
    total: int = 0

    async def model_post_init(self, context: Any) -> None:  # type: ignore[override]
        await look_up(1)


class Made(BaseModel):
    total: int = Field(default_factory=functools.partial(look_up, 1))


@dataclass
class Crate:
    size: int
    total: Any = field(default_factory=functools.partial(look_up, 1))


class Looks:
    async def __call__(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize("model", [Annotated[int, AfterValidator(Looks())], Totals, Posts, Made, Crate])
def test_async_functions_of_a_type_are_found_at_the_start(model: Any) -> None:
    with pytest.raises(InvalidTool, match="is async, and pydantic awaits none"):
        tool_of(model)


def not_on_the_loop(value: Any) -> Any:
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    assert threading.current_thread() is not MAIN
    return value


class Asked(BaseModel):
    number: int

    @model_validator(mode="before")
    @classmethod
    def query(cls, value: Any) -> Any:
        return not_on_the_loop(value)


@pytest.mark.parametrize("annotation", [Annotated[int, AfterValidator(not_on_the_loop)], Asked])
async def test_sync_validators_run_in_a_thread(annotation: Any) -> None:
    value = 1 if annotation is not Asked else {"number": 1}

    async def count(number: annotation) -> str:  # type: ignore[valid-type]
        """Count."""
        return "counted"

    counting = Tool.from_function(count, localns=locals(), requires_approval=lambda arguments, context: False)
    turn = await run_script([call("count", f'{{"number": {value}}}'.replace("'", '"')), "ok"], counting)
    assert turn.results == ["counted"]


@pytest.mark.parametrize("around", [(), (Cache(seconds=60),)])
async def test_interceptors_read_the_arguments_without_validating_them_again(around: tuple[Any, ...]) -> None:
    read: list[Any] = []

    async def reads(invocation: Any, handler: Any) -> Any:
        read.append(invocation.parsed())
        return await handler(invocation)

    counting = tool_of(Annotated[int, AfterValidator(not_on_the_loop)]).replace(read_only=True, idempotent=True)
    turn = await run_script([call("count", '{"number": 1}'), "ok"], counting, interceptors=(*around, reads))
    assert turn.results == ["1"] and read == [{"number": 1}]


async def test_their_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "CHECK_SECONDS", 0.1)
    held = threading.Event()
    counting = tool_of(Annotated[int, AfterValidator(lambda value: held.wait(20) and value)])
    with pytest.raises(NoAnswer, match=r"count: validators .*took longer"):
        await counting.call({"number": 1}, CONTEXT)
    held.set()


class Currency(Enum):
    EURO = "EUR"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        not_on_the_loop(value)
        return cls.EURO


class Stamped(BaseModel):
    total: int = 0
    _made: Any = PrivateAttr(default_factory=lambda: not_on_the_loop(1))


@pytest.mark.parametrize(("annotation", "value"), [(Currency, "USD"), (Stamped, {"total": 1}), (list[Stamped], [{}])])
async def test_what_makes_a_value_of_a_type_runs_in_a_thread_too(annotation: Any, value: Any) -> None:
    await tool_of(annotation).call({"number": value}, CONTEXT)


class Shades(Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


class Plain(BaseModel):
    at: datetime
    point: Point
    names: list[str] = Field(default_factory=list)


@pytest.mark.parametrize(
    "annotation", [int, Plain, Shades, Annotated[str, Field(max_length=3)], Annotated[str, AfterValidator(str.strip)]]
)
async def test_plain_types_are_validated_on_the_loop(annotation: Any) -> None:
    signature = tool_of(annotation).signature
    assert signature is not None and not signature.has_functions


async def test_what_does_not_fit_is_still_told() -> None:
    counting = tool_of(Annotated[int, AfterValidator(not_on_the_loop)])
    with pytest.raises(InvalidArguments, match="number: Input should be a valid integer"):
        await counting.call({"number": "many"}, CONTEXT)


class LeavesOne(BaseModel):
    currency: Annotated[str, AfterValidator(lambda value: look_up(value))] = "EUR"  # noqa: PLW0108 - not async itself


class Queries(BaseModel):
    currency: Annotated[str, AfterValidator(not_on_the_loop)] = "EUR"


def refund_with(config: Any) -> Tool:
    async def refund(context: ToolContext) -> str:
        """Refund."""
        return str(context.config.currency)

    return Tool.from_function(refund, config=config)


def test_an_async_validator_of_settings_stops_the_start() -> None:
    with pytest.raises(InvalidTool, match=r"The config of tool 'refund': the validator .* is async"):
        refund_with(Totals)


def test_an_awaitable_among_the_settings_is_refused_by_name() -> None:
    given = {"currency": "USD"}
    with pytest.raises(ValueError, match="the validator of 'currency' gave an awaitable"):
        read_config(refund_with(LeavesOne), [given])
    for make in (
        lambda: ToolTester(refund_with(LeavesOne), config=given),
        lambda: FixedToolset([refund_with(LeavesOne)], configs={"refund": given}),
    ):
        with pytest.raises(InvalidTool, match=r"settings of tool 'refund' .*'currency' gave an awaitable"):
            make()


async def test_validators_of_settings_run_in_a_thread() -> None:
    given = {"currency": "USD"}
    assert await ToolTester(refund_with(Queries), config=given).read() == "USD"
    client = ChatClient(
        model=ScriptedModel([ToolCall("", "refund", "{}"), "ok"]),
        tools=[refund_with(Queries)],
        configs={"refund": given},
    )
    assert (await client.call("Refund")).tool_calls[0].result == "USD"


class Settings(BaseModel):
    at: datetime | None = None
    many: int = 1
    key: SecretStr = SecretStr("")


@pytest.mark.parametrize("wrong", [{"at": "20310307"}, {"many": "2"}, {"many": True}, {"at": 20310307}, ["many"]])
def test_programs_and_tests_are_as_strict_about_settings_as_runs(wrong: Any) -> None:
    counting = refund_with(Settings)
    with pytest.raises(ValueError, match=r"at|many|mapping|object"):
        read_config(counting, [wrong])
    with pytest.raises(InvalidTool, match="settings of tool 'refund'"):
        ToolTester(counting, config=wrong)
    with pytest.raises(InvalidTool, match="settings of tool 'refund'"):
        FixedToolset([counting], configs={"refund": wrong})


@pytest.mark.parametrize("at", [20310307, 1.5, True, {"a": 1}, "x", "20310307"])
def test_what_is_no_moment_in_settings_is_told_the_right_form(at: Any) -> None:
    with pytest.raises(ValueError, match=r'at: .*"2031-03-07T10:30:00"\.$'):
        read_config(refund_with(Settings), [{"at": at}])


def test_programs_may_give_settings_as_values_of_python() -> None:
    at = datetime(2031, 3, 7, tzinfo=UTC)
    for given in ({"at": at, "key": SecretStr("hush")}, {"at": at.isoformat(), "key": "hush"}):
        config = ToolTester(refund_with(Settings), config=given).context.config
        assert (config.at, config.key.get_secret_value()) == (at, "hush")


class Answer(BaseModel):
    words: Annotated[str, AfterValidator(not_on_the_loop)]


class AnswerLeft(BaseModel):
    words: Annotated[str, AfterValidator(lambda value: look_up(value))]  # noqa: PLW0108 - not async itself


def answering(*turns: str) -> ChatClient[Any]:
    return ChatClient(model=ScriptedModel(turns))


async def test_validators_of_an_answer_run_in_a_thread() -> None:
    text = '{"words": "So many words that parts are read before the end."}'
    assert (await answering(text).call("Hi", output_type=Answer)).output.words.startswith("So many")  # type: ignore[union-attr]
    parts = [value async for value in answering(text).stream_typed("Hi", output_type=Answer)]
    assert len(parts) > 1 and parts[-1].words.endswith("the end.")


async def test_an_awaitable_in_an_answer_ends_the_turn(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(RunFailed) as failed:
        await answering('{"words": "Hello"}').call("Hi", output_type=AnswerLeft)
    assert failed.value.code == "internal_error"
    assert "the validator of 'words' gave an awaitable" in caplog.text


async def test_an_async_validator_of_an_answer_is_refused() -> None:
    with pytest.raises(InvalidTool, match=r"output_type: the validator .* is async"):
        await answering("{}").call("Hi", output_type=Totals)
    with pytest.raises(InvalidTool, match=r"output_type: the validator .* is async"):
        Agent("helper", "Helps.", ScriptedModel([]), FixedToolset([]), output_type=Totals)

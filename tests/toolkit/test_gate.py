"""Functions that tools' authors and hosts hand in: async or sync, bounded in time, and safe without an answer."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, field_validator

from assistant.testing.tool_tester import ToolTester
from assistant.toolkit import InvalidTool, Tool, ToolContext, tool
from assistant.toolkit.calls import gate
from assistant.toolkit.calls.gate import Answer, HandedIn, NoAnswer, ask, ask_all
from assistant.toolkit.definition.conditions import offered_tools, offers_of

CONTEXT = ToolContext()


@tool
def pay() -> str:
    """Pay."""
    return "Paid."


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "CHECK_SECONDS", 0.3)


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """What a function that hangs waits for; set at the end."""
    event = threading.Event()
    yield event
    event.set()


def asked(function: Any, *arguments: Any, kind: type | None = bool, option: str = "available") -> HandedIn:
    return HandedIn(function, arguments, option, "pay", kind)


async def yes(*_: Any) -> bool:
    await asyncio.sleep(0)
    return True


async def no(*_: Any) -> bool:
    await asyncio.sleep(0)
    return False


async def twice(*_: Any) -> Any:
    return no()


class Staff:
    async def __call__(self, context: ToolContext) -> bool:
        return False


@pytest.mark.parametrize("function", [no, lambda *_: no(), Staff()])
async def test_an_async_no_is_a_no(function: Any) -> None:
    assert await offered_tools([pay.replace(available=function)], CONTEXT) == []
    assert (await ask(asked(function, CONTEXT))).value is False


@pytest.mark.parametrize("function", [yes, lambda *_: yes(), lambda *_: True])
async def test_an_async_yes_is_a_yes(function: Any) -> None:
    (offered,) = await offered_tools([pay.replace(available=function)], CONTEXT)
    assert offered.name == "pay"


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (twice, "gave an awaitable that nothing can await here"),
        (lambda _: 1, "gave a int, not True or False"),
        (lambda _: None, "gave a NoneType, not True or False"),
        (lambda _: [1], "gave a list, not True or False"),
        (lambda _: 1 / 0, "raised ZeroDivisionError"),
    ],
)
async def test_what_is_no_answer_hides_the_tool_and_the_log_names_both(
    function: Any, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert await offered_tools([pay.replace(available=function), pay.replace(name="other")], CONTEXT) != []
    assert await offered_tools([pay.replace(available=function)], CONTEXT) == []
    assert "whether tool pay is available failed" in caplog.text and problem in caplog.text


async def test_an_awaitable_is_awaited_once_and_never_forgotten() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for function in (twice, no, lambda *_: no()):
            await offers_of([pay.replace(available=function)], CONTEXT)
            pay.replace(available=function).for_context(CONTEXT)
        gc.collect()
    assert [str(one.message) for one in heard if "never awaited" in str(one.message)] == []


async def test_sync_functions_are_asked_in_one_thread_that_is_not_the_loops() -> None:
    threads: list[threading.Thread] = []

    def note(context: ToolContext) -> bool:
        threads.append(threading.current_thread())
        return True

    tools = [pay.replace(name=f"pay_{number}", available=note) for number in range(20)]
    assert len(await offered_tools(tools, CONTEXT)) == 20
    assert len(set(threads)) == 1 and threading.current_thread() not in threads


async def test_a_tool_without_conditions_costs_no_thread_and_no_turn_of_the_loop() -> None:
    coroutine = offered_tools([pay], CONTEXT)
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    assert ended.value.value == [pay]


async def test_a_function_that_hangs_hides_its_own_tool_only(
    held: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    hanging = pay.replace(name="slow", available=lambda context: held.wait(20))
    before, after = (pay.replace(name=name, available=lambda context: True) for name in ("before", "after"))
    async with asyncio.timeout(10):
        offered = await offered_tools([before, hanging, after], CONTEXT)
    assert [one.name for one in offered] == ["before", "after"]
    assert "tool slow" in caplog.text and "took longer than" in caplog.text


async def test_a_function_that_still_hangs_is_not_called_again(held: threading.Event) -> None:
    calls: list[int] = []

    def hang(context: ToolContext) -> bool:
        calls.append(1)
        return held.wait(20)

    hanging = pay.replace(name="stuck", available=hang)
    async with asyncio.timeout(10):
        problems = [(await offers_of([hanging], CONTEXT))[0].answers[0].problem for _ in range(4)]
    assert len(calls) == gate.MAX_HANGING
    assert problems[-1] == f"is not called: {gate.MAX_HANGING} calls of it still run"
    held.set()
    async with asyncio.timeout(10):
        while any(label.startswith("stuck.") for label in gate._hanging):
            await asyncio.sleep(0.01)
    assert [one.name for one in await offered_tools([hanging], CONTEXT)] == ["stuck"]


async def test_an_async_function_that_ignores_its_end_is_not_waited_for() -> None:
    release = asyncio.Event()

    async def stubborn(context: ToolContext) -> bool:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return True

    async with asyncio.timeout(10):
        answer = await ask(asked(stubborn, CONTEXT, option="stubborn"))
    assert answer.problem.startswith("took longer than")
    release.set()


async def test_a_chain_ends_with_the_first_answer_that_is_no_yes() -> None:
    seen: list[str] = []

    def note(word: str, answer: bool) -> HandedIn:
        def look() -> bool:
            seen.append(word)
            return answer

        return asked(look)

    (first, second) = await ask_all([[note("a", True), asked(yes), note("b", False), note("c", True)], [asked(no)]])
    assert seen == ["a", "b"] and [one.value for one in first] == [True, True, False]
    assert [one.value for one in second] == [False]


async def test_a_caller_that_is_cancelled_leaves_no_task(held: threading.Event) -> None:
    task = asyncio.create_task(ask(asked(lambda: held.wait(20), option="left")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_what_gives_no_answer_is_named_in_the_error() -> None:
    answer = Answer(asked(no), problem="gave a str, not True or False")
    with pytest.raises(NoAnswer, match=r"pay: available \(no\) gave a str, not True or False"):
        answer.result()


@pytest.mark.parametrize(
    ("options", "mistake"),
    [
        ({"available": True}, "available of tool 'pay' is a bool, not a function"),
        ({"available": lambda: True}, "available of tool 'pay' must take 1 positional argument"),
        ({"describe": lambda context, more: ""}, "describe of tool 'pay' must take 1 positional argument"),
        ({"requires_approval": "always"}, "requires_approval of tool 'pay' is a str, not a function"),
        ({"requires_approval": lambda context: True}, "must take 2 positional arguments"),
        ({"asks": lambda: None}, "asks of tool 'pay' must take 1 positional argument"),
        ({"preview": lambda arguments: []}, "preview of tool 'pay' must take 2 positional arguments"),
        ({"result_converter": lambda: ""}, "result_converter of tool 'pay' must take 1 positional argument"),
        ({"result_converter": 5}, "result_converter of tool 'pay' is a int, not a function"),
    ],
)
def test_a_mistake_that_can_be_seen_stops_the_start(options: dict[str, Any], mistake: str) -> None:
    with pytest.raises(InvalidTool, match=mistake.replace("(", r"\(")):
        pay.replace(**options)


def test_a_generator_is_no_answer() -> None:
    def maybe(context: ToolContext) -> Iterator[bool]:
        yield True

    with pytest.raises(InvalidTool, match="available of tool 'pay' is a generator"):
        pay.replace(available=maybe)


def test_code_without_a_loop_asks_async_functions_too() -> None:
    assert pay.replace(available=no).for_context(CONTEXT) is None
    assert pay.replace(available=yes).for_context(CONTEXT) is not None
    assert not ToolTester(pay.replace(available=no)).is_offered


async def test_code_on_a_loop_that_cannot_wait_is_offered_nothing() -> None:
    assert pay.replace(available=yes).for_context(CONTEXT) is None
    assert ToolTester(pay.replace(available=yes)).is_offered
    assert not ToolTester(pay.replace(available=no)).is_offered


async def test_a_description_can_be_async() -> None:
    async def words(context: ToolContext) -> str:
        return f"Pay as {context.tenant.slug}."

    tester = ToolTester(pay.replace(describe=words))
    (offered,) = await offered_tools([tester.tool], tester.context)
    assert offered.description == "Pay as acme."
    for wrong in (lambda context: 5, lambda context: "", lambda context: None):
        assert await offered_tools([pay.replace(describe=wrong)], CONTEXT) == []


async def is_even(value: int) -> int:
    return value


class Order(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    async def check_number(cls, value: int) -> int:
        return value


def test_an_async_validator_of_an_argument_stops_the_start() -> None:
    """Pydantic would give the tool a coroutine for the number."""

    def count(number: Annotated[int, AfterValidator(is_even)]) -> None:
        """Count."""

    def place(order: Order) -> None:
        """Place an order."""

    for function, options in ((count, {}), (place, {}), (place, {"input_type": Order})):
        with pytest.raises(InvalidTool, match="is async, and pydantic awaits none"):
            Tool.from_function(function, **options)

"""Extensions of a turn: when their hooks are called, whose errors they are, and what they keep."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from assistant.client import (
    ChatClient,
    Extension,
    ExtensionRun,
    GuardrailTripped,
    InvalidExtension,
    RunFailed,
    ToolCall,
)
from assistant.client.agents import Agent
from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.extension import acting
from assistant.core.llm.protocol import ModelError
from assistant.core.toolcalls.protocols import FixedToolset
from assistant.core.turn.loop import run_turn
from assistant.core.values.events import RunFinished
from assistant.core.values.limits import Limits
from assistant.core.values.messages import Message
from assistant.providers import ScriptedModel
from assistant.toolkit import ToolContext, ToolError, ToolResult, UserInfo, tool
from tests.core.scripted_turns import plan_for, run_script

ADD = ToolCall("c1", "add", '{"a": 1, "b": 2}')


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@dataclass
class Counted:
    """How many requests there were."""

    requests: int = 0


class Recorder(Extension[Counted]):
    """Notes the moments of a turn."""

    state_type = Counted

    def __init__(self) -> None:
        self.moments: list[str] = []

    async def opened(self, run: ExtensionRun[Counted]) -> None:
        self.moments.append("opened")
        run.tell("greeting", "Welcome")

    async def instructions(self, run: ExtensionRun[Counted]) -> str:
        return f"You help {run.context.user.username}."

    async def before_request(self, run: ExtensionRun[Counted], request: Any) -> Any:
        run.state.requests += 1
        self.moments.append(f"request {run.state.requests} to {run.model.name}")
        return request

    def after_reply(self, run: ExtensionRun[Counted], reply: Any) -> None:  # type: ignore[override]
        self.moments.append(f"reply with {len(reply.tool_calls)} calls")

    async def around_tool(self, invocation: Any, call: Any) -> ToolResult:
        self.moments.append(f"tool {invocation.tool.name}")
        result: ToolResult = await call(invocation)
        return result

    async def check_answer(self, run: ExtensionRun[Counted], answer: str) -> str:
        self.moments.append(f"answer {run.text}")
        return answer

    async def finished(self, run: ExtensionRun[Counted]) -> None:
        self.moments.append(f"finished after {len(run.messages)} messages")


async def test_every_hook_is_called_at_its_moment() -> None:
    recorder = Recorder()
    context = ToolContext(user=UserInfo(1, "ann"))
    turn = await run_script([ADD, "Three."], add, extensions=(recorder,), context=context)
    assert recorder.moments == [
        "opened",
        "request 1 to scripted",
        "reply with 1 calls",
        "tool add",
        "request 2 to scripted",
        "reply with 0 calls",
        "answer Three.",
        "finished after 4 messages",
    ]
    assert turn.custom("greeting") == ["Welcome"]
    assert [request.messages[0].content for request in turn.model.requests] == ["You help ann."] * 2


async def test_its_state_goes_on_in_another_process() -> None:
    first = Recorder()
    second = Recorder()
    transcript = (await run_script([ADD, "Three."], add, extensions=(first,))).transcript
    restored = Transcript.from_state({**transcript.to_state(), "messages": []})
    plan = plan_for(["Three."], extensions=(second,))
    async with aclosing(run_turn(plan, restored)) as events:
        async for _ in events:
            pass
    assert "request 3 to scripted" in second.moments


class Broken(Extension[None]):
    """Fails when a run opens."""

    async def opened(self, run: ExtensionRun[None]) -> None:
        raise RuntimeError("canary")


class BrokenGuard(Broken):
    """Fails, and guards."""

    guards = True


async def test_one_that_only_adds_is_passed_over_when_it_fails(caplog: pytest.LogCaptureFixture) -> None:
    turn = await run_script(["Hello."], extensions=(Broken(), recorder := Recorder()))
    assert isinstance(turn.ending, RunFinished) and recorder.moments[0] == "opened"
    assert "The extension Broken failed in opened" in caplog.text


async def test_one_that_guards_ends_the_turn_when_it_fails(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    turn = await run_script(["Hello."], extensions=(BrokenGuard(),))
    assert turn.error.code == "internal_error" and "canary" not in turn.error.message
    assert turn.model.requests == []


class Hanging(Extension[None]):
    """Never answers."""

    seconds = 0.01

    async def before_request(self, run: ExtensionRun[None], request: Any) -> Any:
        await asyncio.Event().wait()


async def test_a_hook_has_a_bounded_time(caplog: pytest.LogCaptureFixture) -> None:
    turn = await run_script(["Hello."], extensions=(Hanging(),))
    assert isinstance(turn.ending, RunFinished)
    assert "The extension Hanging failed in before_request" in caplog.text


class Polite(Extension[None]):
    """Accepts only polite answers, and no shouting."""

    async def check_answer(self, run: ExtensionRun[None], answer: str) -> str:
        if answer.isupper():
            raise GuardrailTripped("No shouting.")
        if "please" not in answer:
            raise ToolError("Say please.")
        return answer.title()


async def test_the_model_answers_again_until_its_answer_is_accepted() -> None:
    turn = await run_script(["Wait.", "Wait, please."], extensions=(Polite(),))
    assert turn.transcript.output == "Wait, Please."
    assert "Say please." in turn.model.requests[1].messages[-1].content


async def test_an_extension_ends_the_turn_with_its_own_sentence() -> None:
    turn = await run_script(["WAIT!"], extensions=(Polite(),))
    assert (turn.error.message, turn.transcript.guardrail) == ("No shouting.", "Polite")


class Sums(Extension[None]):
    """Adds a tool where nobody is named Bob."""

    def acts(self, context: ToolContext[Any], messages: Sequence[Message]) -> bool:
        return context.user.username != "bob"

    async def tools(self, run: ExtensionRun[None]) -> Sequence[Any]:
        return [add]


@pytest.mark.parametrize(("username", "result"), [("ann", "3"), ("bob", None)])
async def test_a_client_takes_extensions_which_act_where_they_say(username: str, result: str | None) -> None:
    model = ScriptedModel([ADD, "Done."])
    client = ChatClient(model=model, context={"user": {"id": 1, "username": username}}, extensions=[Sums()])
    reply = await client.call("1 + 2?")
    assert [call.result for call in reply.tool_calls if call.status == "ok"] == ([result] if result else [])
    assert [tool.name for tool in model.requests[0].tools] == (["add"] if result else [])


def test_what_is_no_extension_is_refused_when_the_client_is_made() -> None:
    with pytest.raises(InvalidExtension, match="no Extension, but a function"):
        ChatClient(model=ScriptedModel("Hi"), extensions=[lambda run: None])  # type: ignore[list-item]
    with pytest.raises(InvalidExtension, match="two are named 'Sums'"):
        ChatClient(model=ScriptedModel("Hi"), extensions=[Sums(), Sums()])


class Everywhere(Recorder):
    """Acts in assistants that are called as tools, too."""

    in_sub_agents = True


@pytest.mark.parametrize(
    ("name", "hook"),
    [("befor_request", "before_request"), ("around_tools", "around_tool"), ("afterReply", "after_reply")],
)
def test_a_misspelt_hook_is_refused_when_the_class_is_made(name: str, hook: str) -> None:
    told = (
        f"Misspelt has {name!r}, which is never called: is {hook!r} meant? Hooks: acts, opened, instructions, tools, "
    )
    with pytest.raises(InvalidExtension, match=re.escape(told)):
        type("Misspelt", (Extension,), {name: lambda self, run, request: request})


@pytest.mark.parametrize(
    "name", ["after_request", "before_reply", "around_model", "on_error", "before_model", "wrap_tool_call"]
)
@pytest.mark.parametrize("made", [lambda method: method, staticmethod, classmethod])
def test_a_guessed_hook_is_refused_with_those_that_there_are(name: str, made: Any) -> None:
    told = f"Guessed has {name!r}, which is never called. Hooks: acts, opened, instructions, tools, before_request,"
    with pytest.raises(InvalidExtension, match=re.escape(told)):
        type("Guessed", (Extension,), {name: made(lambda self, run: None)})


class Mixed:
    """Not an extension: one inherits from it, and a library may call its methods so."""

    def on_click(self) -> None: ...


def test_a_misspelt_hook_is_refused_where_it_is_inherited_from() -> None:
    class Base:
        def befor_request(self) -> None: ...

    with pytest.raises(InvalidExtension, match="is 'before_request' meant"):
        type("Misspelt", (Base, Extension), {})
    assert issubclass(type("Own", (Mixed, Extension), {}), Extension)


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("gaurds", True, "guards"),
        ("guard", True, "guards"),
        ("second", 3.5, "seconds"),
        ("in_subagents", True, "in_sub_agents"),
        ("statetype", Counted, "state_type"),
        ("Name", "mine", "name"),
    ],
)
def test_a_misspelt_attribute_is_refused_of_the_class_and_of_an_object(name: str, value: Any, meant: str) -> None:
    told = f"has {name!r}, which is never read: is {meant!r} meant? Attributes: name, guards, seconds, in_sub_agents,"
    with pytest.raises(InvalidExtension, match=re.escape(told)):
        type("Misspelt", (Extension,), {name: value})
    polite = Polite()
    setattr(polite, name, value)
    with pytest.raises(InvalidExtension, match=re.escape(told)):
        ChatClient(model=ScriptedModel("Hi"), extensions=[polite])


def test_a_hook_that_is_set_on_an_object_is_refused() -> None:
    polite = Polite()
    polite.before_request = lambda run, request: request  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(InvalidExtension, match="Polite sets the hook 'before_request' on an object"):
        ChatClient(model=ScriptedModel("Hi"), extensions=[polite])


@dataclass
class Needy:
    """Cannot be made without an argument."""

    requests: int


async def asks(self: Any, context: Any, messages: Any) -> bool:
    """Wait, which `acts` must not."""
    return False


async def tools(self: Any, run: Any) -> Any:
    """Yield, which no hook does."""
    yield add


@pytest.mark.parametrize(
    ("own", "told"),
    [
        (
            {"before_request": lambda self, request: request},
            "before_request of Broken must take 2 positional arguments: run, request",
        ),
        ({"acts": lambda self, context: True}, "acts of Broken must take 2 positional arguments: context, messages"),
        ({"acts": asks}, "acts of Broken is async: it must wait for nothing"),
        ({"tools": tools}, "tools of Broken is a generator, and must return its answer"),
        ({"instructions": "Be brief."}, "instructions of Broken is a str, not a function"),
        ({"guards": "yes"}, "guards of Broken must be True or False, not a str"),
        ({"seconds": "5"}, "seconds of Broken must be a number, not a str"),
        ({"state_type": Counted()}, "state_type of Broken must be a class, not a Counted"),
        ({"state_type": Needy}, "state_type of Broken must be made without arguments"),
    ],
)
def test_a_hook_or_an_attribute_that_cannot_be_used_is_refused_when_the_client_is_made(
    own: dict[str, Any], told: str
) -> None:
    made = type("Broken", (Extension,), own)
    with pytest.raises(InvalidExtension, match=re.escape(told)):
        ChatClient(model=ScriptedModel("Hi"), extensions=[made()])


@pytest.mark.parametrize(
    "own",
    [
        {"summary": lambda self: "", "_befor_request": lambda self: 1, "_after_request": lambda self: 1, "toolz": ()},
        {"names": ["a"], "guard": "a sentence", "second": ("a", "b"), "state": None, "before_words": ("a",)},
        {"after_words": property(lambda self: "")},
    ],
)
def test_other_methods_and_attributes_of_an_extension_are_its_own(own: dict[str, Any]) -> None:
    made = type("Own", (Extension,), own)
    ChatClient(model=ScriptedModel("Hi"), extensions=[made()])


def yields(self: Any, *given: Any) -> Any:
    raise GuardrailTripped("No.")
    yield


async def yields_later(self: Any, *given: Any) -> Any:
    raise GuardrailTripped("No.")
    yield


@pytest.mark.parametrize("function", [yields, yields_later])
@pytest.mark.parametrize("hook", ["opened", "after_reply", "check_answer"])
async def test_a_guard_that_gives_a_generator_ends_the_turn(hook: str, function: Any) -> None:
    guard = type("Guard", (Extension,), {"guards": True, hook: lambda *given: function(*given)})()  # noqa: PLW0108 - it yields nothing itself
    with pytest.raises(RunFailed, match="Something went wrong on our side"):
        await ChatClient(model=ScriptedModel("Hi"), extensions=[guard]).call("Hi")


async def not_here(self: Any, context: Any, messages: Any) -> bool:
    return False


@pytest.mark.parametrize("answer", [None, 1, "no", not_here])
@pytest.mark.parametrize("guards", [True, False])
async def test_an_extension_that_does_not_say_whether_it_acts_does_if_it_guards(
    answer: Any, guards: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def acts(self: Any, context: Any, messages: Any) -> Any:
        return answer(self, context, messages) if callable(answer) else answer

    def opened(self: Any, run: Any) -> None:
        raise GuardrailTripped("No.")

    unsure = type("Unsure", (Extension,), {"acts": acts, "guards": guards, "opened": opened})()
    client = ChatClient(model=ScriptedModel("Hi"), extensions=[unsure])
    if guards:
        with pytest.raises(RunFailed, match=r"No\."):
            await client.call("Hi")
    else:
        assert (await client.call("Hi")).text == "Hi"
    assert "The extension Unsure gave a " in caplog.text


async def test_only_those_that_say_so_act_in_assistants_that_are_called() -> None:
    agent = Agent("helper", "Helps.", ScriptedModel(["Helped."], name="small"), FixedToolset(()))
    here = Recorder()
    everywhere = Everywhere()
    call = ToolCall("c1", "helper", '{"task": "Help."}')
    await run_script([call, "Done."], agent.as_tool(), extensions=(here, everywhere))
    assert "request 1 to small" in everywhere.moments
    assert "request 1 to small" not in here.moments


class Undecided(BrokenGuard):
    """Cannot say whether it acts."""

    def acts(self, context: ToolContext[Any], messages: Sequence[Message]) -> bool:
        raise RuntimeError("canary")


class UndecidedAddition(Undecided):
    """The same, but it guards nothing."""

    guards = False


def test_a_guard_that_cannot_say_whether_it_acts_does() -> None:
    guard = Undecided()
    assert acting((guard, UndecidedAddition()), ToolContext(), ()) == (guard,)


async def test_calls_that_the_caller_runs_later_are_made_as_in_the_turn() -> None:
    agent = Agent("helper", "Helps.", ScriptedModel(["Helped."], name="small"), FixedToolset(()))
    call = ToolCall("c1", "helper", '{"task": "Help."}')
    everywhere = Everywhere()
    client = ChatClient(model=ScriptedModel([call]), tools=[agent.as_tool()], extensions=[everywhere])
    reply = await client.call("Help me", execute_tools=False)
    reply = await client.execute(reply)
    assert reply.tool_calls[0].result == "Helped."
    assert "request 1 to small" in everywhere.moments


class Watcher(Extension[None]):
    """Looks at what is written, has the model asked again, and says what the run's result is."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def after_event(self, run: ExtensionRun[None], event: Any) -> None:
        self.seen.append(event.type)
        if event.type == "TEXT_MESSAGE_END":
            run.tell("seen", len(self.seen))

    async def after_failure(self, run: ExtensionRun[None], error: ModelError) -> bool:
        return str(error) == "Try once more."

    async def result(self, run: ExtensionRun[None], answer: Any) -> Any:
        return {"length": len(answer)}


async def test_an_extension_sees_what_is_written_and_gives_the_result() -> None:
    watcher = Watcher()
    turn = await run_script([["Good ", "day"]], extensions=(watcher,))
    assert watcher.seen == ["TEXT_MESSAGE_START", *["TEXT_MESSAGE_CONTENT"] * 2, "TEXT_MESSAGE_END"]
    assert turn.custom("seen") == [4]
    assert turn.ending.result == {"length": 8}  # type: ignore[union-attr]


async def test_an_extension_has_the_model_asked_again_and_that_counts_once() -> None:
    turn = await run_script([ModelError("Try once more."), "Hello"], extensions=(Watcher(),), limits=Limits(rounds=1))
    assert turn.messages[-1].content == "Hello"
    turn = await run_script([ModelError("Give up."), "Hello"], extensions=(Watcher(),))
    assert turn.error.code == "provider_error"


class Late(Extension[None]):
    """Takes longer over a complete answer, in one of its hooks, than the turn may take."""

    def __init__(self, hook: str) -> None:
        self.hook = hook

    async def _take_long(self, hook: str) -> None:
        if hook == self.hook:
            await asyncio.sleep(0.4)

    async def after_reply(self, run: ExtensionRun[None], reply: Any) -> None:
        await self._take_long("after_reply")

    async def check_answer(self, run: ExtensionRun[None], answer: str) -> str:
        await self._take_long("check_answer")
        return answer

    async def result(self, run: ExtensionRun[None], answer: str) -> str:
        await self._take_long("result")
        return answer


class LateGuard(Late):
    """The same, without which the answer may not be given."""

    guards = True


@pytest.mark.parametrize("hook", ["after_reply", "check_answer", "result"])
async def test_an_answer_is_not_lost_for_the_time_of_what_it_can_do_without(hook: str) -> None:
    extensions = (Late(hook), LateGuard("none"))
    turn = await run_script(["Hello."], extensions=extensions, limits=Limits(seconds=0.3))
    assert isinstance(turn.ending, RunFinished) and turn.transcript.result == "Hello."


@pytest.mark.parametrize("hook", ["after_reply", "check_answer", "result"])
async def test_what_guards_has_no_more_time_than_the_turn(hook: str) -> None:
    turn = await run_script(["Hello."], extensions=(LateGuard(hook),), limits=Limits(seconds=0.3))
    assert turn.error.code == "limit_reached"

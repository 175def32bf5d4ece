"""Extensions that are shipped for programs and deployments: safeguard words, redacted prompts, emulated tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import pytest

from assistant.client import (
    ChatClient,
    EmulatedTools,
    InMemoryStore,
    InvalidExtension,
    Message,
    PromptLog,
    RedactPrompts,
    RunFailed,
    SafeguardWords,
    ToolCall,
)
from assistant.client.redaction import Redaction
from assistant.contrib.titles.side_question import ask_aside
from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.core.values.timeline import Timeline
from assistant.providers import ScriptedModel
from assistant.services.runs.extensions.deployment import ADDED
from assistant.services.runs.extensions.run_extension import FinishedRun
from assistant.testing import ChatTester, answer_with
from assistant.toolkit import ToolError, tool
from tests.base import Cast
from tests.core.scripted_turns import plan_for

RAN: list[str] = []


@tool
def send(to: str, text: str) -> str:
    """Send somebody a message."""
    RAN.append(to)
    return f"sent to {to}"


def client(*turns: Any, **options: Any) -> tuple[ChatClient[Any], ScriptedModel]:
    model = ScriptedModel(turns)
    return ChatClient(model=model, tools=[send], **options), model


@pytest.mark.parametrize("message", ["Tell me of Project X!", "PROJECT  x?", "the project\nX", "Ｐroject X"])
async def test_a_message_with_a_safeguard_word_never_reaches_the_model(message: str) -> None:
    asking, model = client("ok", extensions=[SafeguardWords(["project x"], sentence="Not here.")])
    with pytest.raises(RunFailed, match=r"Not here\.") as failed:
        await asking.call(message)
    assert failed.value.guardrail == "assistant.safeguard_words" and not model.requests


@pytest.mark.parametrize("message", ["projects x", "project xy", "my-project", "Hello"])
async def test_a_part_of_a_word_is_none(message: str) -> None:
    asking, _ = client("ok", extensions=[SafeguardWords(["project x"])])
    assert (await asking.call(message)).text == "ok"


async def test_answers_are_searched_unless_they_are_not() -> None:
    asking, _ = client("It is Project X.", extensions=[SafeguardWords(["project x"])])
    with pytest.raises(RunFailed):
        await asking.call("What is it?")
    asking, _ = client("It is Project X.", extensions=[SafeguardWords(["project x"], answers=False)])
    assert (await asking.call("What is it?")).text == "It is Project X."


@pytest.mark.parametrize("words", [[], "", [" "]])
def test_words_are_needed(words: Any) -> None:
    with pytest.raises(ValueError, match="needs words"):
        SafeguardWords(words)


@pytest.mark.parametrize("make", [RedactPrompts, lambda one: PromptLog(redact=(one,))])
@pytest.mark.parametrize(
    ("pattern", "error", "told"),
    [
        ("(a", ValueError, r"The pattern '\(a' is no regular expression: missing \)"),
        (5, TypeError, "A pattern of what is hidden is a text, not 5"),
        (re.compile(b"a"), TypeError, "A pattern of what is hidden is a text"),
    ],
)
def test_a_pattern_that_is_none_is_named(make: Any, pattern: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        make(pattern)


def test_patterns_are_a_list_and_the_mark_is_a_text_as_it_stands() -> None:
    with pytest.raises(TypeError, match=r"as a list, as \['abc'\]"):
        PromptLog(redact="abc")
    with pytest.raises(TypeError, match="The mark is a text, not 3"):
        RedactPrompts(mark=3)  # type: ignore[arg-type]
    assert Redaction(["a+", re.compile("C")], r"\1").text("baaC") == r"b\1\1"


class Unable(RedactPrompts):
    """Fails where it should hide."""

    name = "unable"

    async def before_aside(self, request: ModelRequest) -> ModelRequest:
        raise RuntimeError("canary")


class UnableAddition(Unable):
    """The same, but nothing depends on it."""

    guards = False


async def test_summaries_are_not_written_from_what_is_private() -> None:
    long = [Message("user" if number % 2 == 0 else "assistant", "bob@example.com " * 200) for number in range(8)]
    asking, model = client(*["Summary."] * 30, extensions=[RedactPrompts()], store=InMemoryStore())
    short = await asking.compact(long, tokens=1_000)
    assert len(short) < len(long)
    session = asking.session("c1")
    await asking.call(long, conversation="c1")
    model.requests.clear()
    await session.compact(tokens=100)
    assert model.requests and not any("bob@" in str(request.messages) for request in model.requests)


@pytest.mark.parametrize(("extension", "is_asked"), [(Unable(), False), (UnableAddition(), True)])
async def test_a_request_beside_the_turn_is_not_sent_if_one_that_guards_fails(
    extension: RedactPrompts, is_asked: bool, caplog: pytest.LogCaptureFixture
) -> None:
    long = [Message("user" if number % 2 == 0 else "assistant", "bob@example.com " * 200) for number in range(8)]
    asking, model = client(*["Summary."] * 30, extensions=[extension])
    if is_asked:
        await asking.compact(long, tokens=1_000)
    else:
        with pytest.raises(ModelError, match=r"The extension unable failed\."):
            await asking.compact(long, tokens=1_000)
    assert bool(model.requests) == is_asked
    assert f"The extension {extension.name} failed in before_aside" in caplog.text


async def test_titles_and_summaries_of_a_run_are_asked_for_without_what_is_private() -> None:
    plan = plan_for(["{}"], extensions=(RedactPrompts(),))
    run = FinishedRun(cast("Any", None), plan, (), Timeline(), cast("Any", None), cast("Any", None))
    await ask_aside(
        run.answered_by.model,
        question="Write to bob@example.com",
        answer="Sent to bob@example.com.",
        sources=(),
        wants_title=True,
        wants_questions=True,
        on_usage=lambda name, usage: None,
    )
    (request,) = cast("ScriptedModel", plan.model).requests
    assert request.messages[-1].content.count("[hidden]") == 2 and "bob@" not in str(request)


async def test_models_are_not_sent_what_is_private() -> None:
    call = ToolCall("c1", "send", '{"to": "bob@example.com", "text": "hi"}')
    history = [
        Message("user", "Write to bob@example.com"),
        Message("assistant", tool_calls=(call,)),
        Message("tool", "sent to bob@example.com", tool_call_id="c1"),
        Message("assistant", "Done."),
    ]
    asking, model = client("ok", system="Escalate to help@example.com.", extensions=[RedactPrompts()])
    reply = await asking.call("My card is 4111 1111 1111 1111", history=history)
    system, *sent = model.requests[0].messages
    assert "help@example.com" in system.content  # the operator's own
    contents = [message.content for message in sent]
    assert "bob@" not in str(contents) and "4111" not in str(contents)
    assert sent[1].tool_calls[0].arguments == '{"to": "[hidden]", "text": "hi"}'
    assert "bob@example.com" in reply.messages[0].content  # the conversation stays as it is


async def test_patterns_of_ones_own() -> None:
    asking, model = client("ok", extensions=[RedactPrompts(r"\bK-\d+", mark="***")])
    await asking.call("Order K-77 of bob@example.com")
    assert model.requests[0].messages[-1].content == "Order *** of bob@example.com"


async def test_emulated_tools_do_not_run() -> None:
    RAN.clear()
    ask = [ToolCall("", "send", '{"to": "Bob", "text": "hi"}'), ToolCall("", "send", '{"to": 7}')]
    asking, _ = client(ask, "Done.", extensions=[EmulatedTools({"send": lambda arguments: {"to": arguments["to"]}})])
    made, refused = (await asking.call("Write to Bob")).tool_calls
    assert (made.result, RAN) == ('{"to":"Bob"}', [])
    assert refused.status == "error" and "text" in str(refused.result)  # arguments are checked


@pytest.mark.parametrize(
    ("results", "read"), [({"send": "ok"}, "ok"), ({"send": ToolError("No paper.")}, "No paper."), ({}, "no result")]
)
async def test_results_errors_and_none(results: dict[str, Any], read: str) -> None:
    asking, _ = client(
        ToolCall("", "send", '{"to": "Bob", "text": "hi"}'), "Done.", extensions=[EmulatedTools(results)]
    )
    assert read in str((await asking.call("?")).tool_calls[0].result)


async def test_a_model_makes_results_up_and_others_run() -> None:
    RAN.clear()
    ask = ToolCall("", "send", '{"to": "Bob", "text": "hi"}')
    inventor = ScriptedModel("It went to Bob at noon.")
    asking, _ = client(ask, "Done.", extensions=[EmulatedTools(model=inventor)])
    assert (await asking.call("?")).tool_calls[0].result == "It went to Bob at noon."
    assert "send" in inventor.requests[0].messages[-1].content
    asking, _ = client(ask, "Done.", extensions=[EmulatedTools(only=["other"])])
    assert (await asking.call("?")).tool_calls[0].result == "sent to Bob" and RAN == ["Bob"]


@pytest.fixture
def _added() -> Iterator[None]:
    ADDED.extend([SafeguardWords(["project x"], sentence="Not here."), RedactPrompts()])
    yield
    ADDED.clear()


@pytest.mark.django_db
@pytest.mark.usefixtures("_added", "provider")
def test_they_act_in_tenants_runs(cast: Cast) -> None:
    model = ScriptedModel(["Hello.", "Title", "never"])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        assert chat.ask("I am bob@example.com").text == "Hello."
        asked = len(model.requests)
        refused = chat.ask("What is project x?")
    assert "bob@" not in str([request.messages for request in model.requests])
    assert refused.error is not None and len(model.requests) == asked


def test_a_class_in_place_of_an_extension_says_what_to_give() -> None:
    with pytest.raises(InvalidExtension, match="give an object of RedactPrompts, not the class"):
        ChatClient(model=ScriptedModel("ok"), extensions=[RedactPrompts])  # type: ignore[list-item]

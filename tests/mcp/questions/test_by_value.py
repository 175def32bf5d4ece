"""Questions of servers that a program gives to its `ChatClient`: its own function answers them during the call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from assistant.client import ChatClient, McpServer, ToolCall
from assistant.mcp_client.questions import MAX_ROUNDS, NO_ANSWER, NO_PAGES, TOO_MANY, UNFIT
from assistant.providers import ScriptedModel
from assistant.toolkit import Question, ToolContext
from tests.mcp.outside import Outside
from tests.mcp.questions.acts import SEAT, SENT, answers_in, calls_in

pytestmark = pytest.mark.slow


class Person:
    """Answers questions with the given answers, in their order, and keeps what was asked; slow if `seconds` is."""

    def __init__(self, *answers: Mapping[str, Any] | None, seconds: float = 0.0) -> None:
        self.answers, self.seconds = list(answers), seconds
        self.asked: list[Question] = []

    async def __call__(self, question: Question, context: ToolContext) -> Mapping[str, Any] | None:
        self.asked.append(question)
        assert context.user.username == "ann"
        await asyncio.sleep(self.seconds)
        return self.answers.pop(0)


async def result_of(asking: Outside, tool: str, person: Any, **server: Any) -> str:
    """What the model reads of a call of the tool."""
    model = ScriptedModel([ToolCall("", tool, '{"what": "a trip"}'), "Done."])
    given = McpServer(url=asking.url, **server)
    client = ChatClient(model=model, tools=[given], context={"user": {"username": "ann"}}, on_question=person)
    reply = await client.call("Book it")
    await client.aclose()
    return str(reply.tool_calls[0].result)


async def test_the_programs_function_answers_and_the_call_goes_on(asking: Outside) -> None:
    person = Person(SEAT, {"go_on": True})
    before = calls_in(asking)
    result = await result_of(asking, "book_surely", person)
    assert [one["content"] for one in json.loads(result)] == [SENT, {}]
    first, second = person.asked
    assert "Which" in first.text and first.schema["required"] == ["seat", "people"]
    assert "Are you sure?" in second.text
    # Since 2026-07-28 each answer is a request of its own.
    assert calls_in(asking) - before in (1, 3)


async def test_a_function_need_not_be_async(asking: Outside) -> None:
    result = await result_of(asking, "book", lambda question, context: SEAT)
    assert json.loads(result)[0]["content"] == SENT


@pytest.mark.parametrize(
    ("answer", "note"), [(None, NO_ANSWER), ({"seat": "Aisle", "people": 99}, UNFIT), ({"people": object()}, UNFIT)]
)
async def test_no_answer_and_one_that_does_not_fit_are_declined(answer: Any, note: str, asking: Outside) -> None:
    result = await result_of(asking, "book", Person(answer))
    assert result.startswith(note) and answers_in(asking)[-1]["action"] == "decline"


async def test_bounds_hold_for_a_program_too(asking: Outside) -> None:
    person = Person(*[{"go_on": True}] * 8)
    assert TOO_MANY in await result_of(asking, "pry", person)
    assert len(person.asked) == MAX_ROUNDS
    assert NO_PAGES in await result_of(asking, "page", person)


async def test_a_persons_time_is_none_of_the_servers(asking: Outside) -> None:
    person = Person(SEAT, seconds=1.5)
    assert json.loads(await result_of(asking, "book", person, timeout=1.2))[0]["content"] == SENT


async def test_without_a_function_the_server_is_told_that_nobody_can_be_asked(asking: Outside) -> None:
    assert await result_of(asking, "book", None) == "This client cannot ask."

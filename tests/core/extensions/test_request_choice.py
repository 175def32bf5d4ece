"""A caller's choice of tools and form of the answer, in the requests of one turn."""

from __future__ import annotations

import pytest

from assistant.core.extensions.request_choice import RequestChoice
from assistant.core.values.events import RunError
from tests.core.scripted_turns import run_script
from tests.core.turn.test_loop import add, call


@pytest.mark.parametrize("choice", ["required", "add"])
async def test_a_required_call_is_required_once(choice: str) -> None:
    turn = await run_script([call("add", '{"a":1,"b":1}'), "2"], add, extensions=(RequestChoice(choice),))
    assert [request.tool_choice for request in turn.model.requests] == [choice, None]


async def test_a_form_of_the_answer_is_sent_each_time() -> None:
    choice = RequestChoice("auto", {"type": "json_object"})
    turn = await run_script([call("add", '{"a":1,"b":1}'), "{}"], add, extensions=(choice,))
    sent = [(request.tool_choice, request.response_format) for request in turn.model.requests]
    assert sent == [("auto", {"type": "json_object"})] * 2


async def test_a_tool_that_is_not_offered_cannot_be_chosen() -> None:
    turn = await run_script(["2"], add, extensions=(RequestChoice("subtract"),))
    ending = turn.events[-1]
    assert isinstance(ending, RunError)
    assert (ending.code, ending.message) == (
        "invalid_input",
        "There is no tool named 'subtract' to choose. Choices: auto, none, required, add.",
    )
    assert not turn.model.requests

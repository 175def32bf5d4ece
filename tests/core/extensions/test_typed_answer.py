"""Typed answers: request modes, partial values, validation and repair."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from pydantic import BaseModel

from assistant.core.conversation.transcript import Transcript
from assistant.core.llm.protocol import ModelError, ModelRequest, NoTypedAnswers
from assistant.core.llm.typed_output import InvalidOutput, OutputType, SchemaOutput, check_schema
from assistant.core.turn.loop import run_turn
from assistant.core.values.events import Event
from assistant.core.values.messages import ToolCall, Usage
from tests.core.scripted_turns import TurnResult, plan_for, run_script
from tests.toolkit.reference import at_most

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    "required": ["city", "days"],
}
ANSWER = '{"city": "Graz", "days": [1, 2, 3]}'
LONG = '{"city": "Graz", "days": [' + ", ".join(map(str, range(40))) + "]}"


class Trip(BaseModel):
    city: str
    days: list[int]


def partials(turn: TurnResult) -> list[Any]:
    return [value["value"] for value in turn.custom("output.partial")]


@pytest.mark.parametrize("output", [SchemaOutput(SCHEMA), OutputType(Trip)], ids=["schema", "model"])
async def test_the_value_is_the_result_after_partial_values(output: OutputType[Any]) -> None:
    turn = await run_script([[LONG[at : at + 7] for at in range(0, len(LONG), 7)]], output=output)
    result = {"city": "Graz", "days": list(range(40))}
    assert turn.ending.result == output.to_json(turn.transcript.output) == result  # type: ignore[union-attr]
    grown = [len(value.get("days", [])) for value in partials(turn)]
    assert grown == sorted(grown) and 3 < len(grown) < 12 and grown[-1] < 40


async def test_partial_values_are_sent_with_on_text_too() -> None:
    told: list[Event] = []
    plan = plan_for([[LONG[at : at + 7] for at in range(0, len(LONG), 7)]], output=SchemaOutput(SCHEMA))
    async with aclosing(run_turn(plan, Transcript(), told.append)) as turn:
        names = [getattr(event, "name", event.type) async for event in turn]
    assert names.count("output.partial") > 3
    assert told == []


@pytest.mark.parametrize("text", ['{"value": [{"city": "Graz", "days": []}]}', '[{"city": "Graz", "days": []}]'])
async def test_a_value_that_is_no_object_is_read_with_and_without_its_wrapper(text: str) -> None:
    output = OutputType(list[Trip])
    assert output.schema["required"] == ["value"]
    assert output.parse(text) == [Trip(city="Graz", days=[])]
    assert output.parse_partial(text[: text.index("]") + 1]) == [Trip(city="Graz", days=[])]


@pytest.mark.parametrize("text", ['{"values": []}', '{"value": [], "more": 1}', '{"value": 5}', "5", "null"])
async def test_other_values_are_not_accepted(text: str) -> None:
    with pytest.raises(InvalidOutput):
        OutputType(list[Trip]).parse(text)


async def test_an_invalid_answer_is_marked_and_repaired() -> None:
    turn = await run_script(['{"city": 5, "days": []}', ANSWER], output=SchemaOutput(SCHEMA))
    assert turn.custom("message.cut") == [{"messageId": turn.messages[0].id, "reason": "invalid_form"}]
    assert [message.is_partial for message in turn.messages] == [True, False]
    reason = turn.model.requests[1].messages[-1]
    assert reason.role == "user" and "city: must be of type string" in reason.content
    assert turn.ending.result["city"] == "Graz"  # type: ignore[union-attr]


async def test_repairs_are_limited_and_no_invalid_answer_is_a_success() -> None:
    turn = await run_script(["no", "no", "no", ANSWER], output=SchemaOutput(SCHEMA))
    assert turn.error.code == "provider_error"
    assert "no valid answer" in turn.error.message


def refuses_format(request: ModelRequest) -> Any:
    return NoTypedAnswers("No.") if request.response_format else refuses_tools(request)


def refuses_tools(request: ModelRequest) -> Any:
    return ToolCall("", "give_answer", ANSWER)


async def test_a_provider_without_structured_output_gives_the_answer_as_a_tools_arguments() -> None:
    turn = await run_script([refuses_format, refuses_format], output=SchemaOutput(SCHEMA))
    assert turn.ending.result["days"] == [1, 2, 3]  # type: ignore[union-attr]
    assert turn.model.requests[1].tool_choice == "give_answer"
    assert turn.messages[-1].content.startswith('{"city":"Graz"')


async def test_a_provider_without_tools_gets_instructions_in_the_prompt() -> None:
    turns = [NoTypedAnswers("No."), NoTypedAnswers("No."), f"```json\n{ANSWER}\n```"]
    turn = await run_script(turns, output=SchemaOutput(SCHEMA))
    assert turn.ending.result["city"] == "Graz"  # type: ignore[union-attr]
    assert "JSON Schema" in turn.model.requests[2].messages[0].content


@pytest.mark.parametrize("schema", [None, "text", {"type": "array"}, {"type": "object", "properties": []}, {}])
def test_what_is_no_schema_of_an_object_is_refused(schema: Any) -> None:
    with pytest.raises(ValueError, match=r"schema|must be|is not of type"):
        check_schema(schema)


async def test_tokens_of_an_answer_that_failed_are_counted_and_marked() -> None:
    turn = await run_script([["Half of", ModelError("Gone.")]])
    spent = turn.transcript.usage["scripted", "scripted"]
    assert spent.is_estimated and spent.input_tokens > 0 and spent.output_tokens == 2
    assert turn.error.usage and turn.error.usage[0].output_tokens == 2


async def test_tokens_that_the_provider_had_counted_are_taken_as_they_are() -> None:
    error = ModelError("Gone.")
    error.usage = Usage(7, 3)
    turn = await run_script([["Half", error]])
    assert turn.transcript.usage["scripted", "scripted"] == Usage(7, 3)


async def test_a_refused_request_has_no_usage() -> None:
    assert (await run_script([ModelError("No key.")])).transcript.usage == {}


async def test_tokens_of_a_cancelled_answer_are_counted() -> None:
    said = asyncio.Event()

    async def hang() -> None:
        said.set()
        await asyncio.Event().wait()

    transcript = Transcript()
    plan = plan_for([["Let me think", hang()]])

    async def read() -> None:
        async with aclosing(run_turn(plan, transcript)) as events:
            async for _ in events:
                pass

    task = asyncio.create_task(read())
    await asyncio.wait_for(said.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (spent,) = transcript.usage.values()
    assert spent.is_estimated and spent.output_tokens == 3


@pytest.mark.parametrize("text", ["```" + "\n" * 100_000, "```\n" * 33_333, "```json" + " " * 100_000])
def test_code_fences_without_an_end_are_searched_in_linear_time(text: str) -> None:
    with at_most(10.0), pytest.raises(InvalidOutput):
        SchemaOutput(SCHEMA).parse(text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (int, "true"), (int, '{"value": true}'), (float, "true"), (float, '{"value": false}'), (bool, '{"value": 1}'),
        (list[int], '{"value": [true]}'), (dict[str, float], '{"a": true}'), (int | None, "true"),
    ],
)  # fmt: skip
def test_true_is_no_number_and_1_is_not_true(kind: Any, text: str) -> None:
    with pytest.raises(InvalidOutput, match=r"valid (integer|number|boolean)"):
        OutputType(kind).parse(text)
    assert OutputType(kind).parse_partial(text) in (None, [], {})


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [(int, "1", 1), (int, '"1"', 1), (int, '{"value": 1.0}', 1), (float, '{"value": 1}', 1.0)],
)
def test_numbers_are_taken_as_arguments_are(kind: Any, text: str, value: Any) -> None:
    assert OutputType(kind).parse(text) == value

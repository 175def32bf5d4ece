from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from assistant.core.conversation.transcript import Transcript
from assistant.core.llm.protocol import Delta, ModelError, ModelRequest, ReasoningDelta, TextDelta, ToolCallDelta
from assistant.core.turn.loop import Limits, run_turn
from assistant.core.values.events import Event, ReasoningMessageContent, Success, TextMessageContent
from assistant.core.values.messages import Message, Reply, ToolCall, Usage
from assistant.toolkit import Tool, ToolContext, tool
from tests.core.scripted_turns import USER, check_history, plan_for, run_script, streamed_arguments


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(name: str, arguments: str = "{}", call_id: str = "") -> ToolCall:
    return ToolCall(call_id, name, arguments)


async def test_a_text_streams_as_it_arrives() -> None:
    turn = await run_script(["Good morning"])
    assert turn.kinds == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert [message.content for message in turn.messages] == ["Good morning"]


async def test_reasoning_has_its_own_events_and_ends_before_the_text() -> None:
    turn = await run_script([[ReasoningDelta("Hm. "), ReasoningDelta("Aha."), "Yes"]])
    assert turn.kinds[1:9] == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
    ]
    assert (turn.messages[0].reasoning, turn.messages[0].content) == ("Hm. Aha.", "Yes")


async def test_reasoning_that_comes_back_after_text_belongs_to_the_same_message() -> None:
    turn = await run_script([[ReasoningDelta("One. "), "Text", ReasoningDelta("Two."), " more"]])
    assert len(turn.messages) == 1
    assert (turn.messages[0].reasoning, turn.messages[0].content) == ("One. Two.", "Text more")


async def test_a_tool_call_streams_runs_and_its_result_goes_back_to_the_model() -> None:
    turn = await run_script([call("add", '{"a":1,"b":2}'), "It is 3."], add)
    asked = turn.model.requests[1].messages
    assert [message.role for message in asked] == ["user", "assistant", "tool"]
    assert asked[2].content == "3"
    assert asked[2].tool_call_id == asked[1].tool_calls[0].id
    assert turn.kinds.index("TOOL_CALL_END") < turn.kinds.index("TOOL_CALL_RESULT")


async def test_rounds_go_on_until_the_model_answers() -> None:
    turns = [call("add", f'{{"a":{n},"b":1}}') for n in range(5)]
    turn = await run_script([*turns, "Done."], add)
    assert turn.results == ["1", "2", "3", "4", "5"]
    assert turn.messages[-1].content == "Done."


async def test_arguments_stream_in_pieces() -> None:
    pieces = [
        ToolCallDelta(0, "c1", "add", '{"a":'),
        ToolCallDelta(0, arguments='1,"b"'),
        ToolCallDelta(0, arguments=":2}"),
    ]
    turn = await run_script([pieces, "3"], add)
    assert turn.kinds.count("TOOL_CALL_ARGS") == 3
    assert turn.results == ["3"]


async def test_calls_that_are_interleaved_keep_their_own_arguments() -> None:
    pieces = [
        ToolCallDelta(0, "", "add", '{"a":1,'),
        ToolCallDelta(1, "", "add", '{"a":10,'),
        ToolCallDelta(0, arguments='"b":1}'),
        ToolCallDelta(1, arguments='"b":10}'),
    ]
    turn = await run_script([pieces, "ok"], add)
    assert turn.results == ["2", "20"]


async def test_the_same_call_id_in_every_round_is_made_unique() -> None:
    turn = await run_script([call("add", '{"a":1,"b":1}', "call_0"), call("add", '{"a":1,"b":2}', "call_0"), "ok"], add)
    ids = [c.id for message in turn.messages for c in message.tool_calls]
    assert len(set(ids)) == 2
    assert turn.results == ["2", "3"]


async def test_unless_they_are_kept_all_call_ids_are_our_own() -> None:
    turn = await run_script([call("add", '{"a":1,"b":1}', "call_0"), "ok"], add, keep_ids=False)
    assert turn.messages[0].tool_calls[0].id != "call_0"
    assert turn.results == ["2"]


async def test_a_reply_without_deltas_is_sent_as_events() -> None:
    turn = await run_script([Reply(text="Whole", reasoning="Hm")])
    assert [e.delta for e in turn.events if isinstance(e, TextMessageContent)] == ["Whole"]
    assert [e.delta for e in turn.events if isinstance(e, ReasoningMessageContent)] == ["Hm"]


async def test_usage_has_one_entry_per_model() -> None:
    replies = [
        Reply(tool_calls=(call("add", '{"a":1,"b":2}'),), usage=Usage(10, 5), model="m", finish_reason="tool_calls"),
        Reply(text="3", usage=Usage(20, 7, cached_input_tokens=8), model="m"),
    ]
    turn = await run_script(replies, add)
    (usage,) = turn.ending.usage or []
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.cached_input_tokens) == (30, 12, 42, 8)


async def test_a_provider_error_keeps_the_text_and_marks_it_partial() -> None:
    turn = await run_script([["Half an ", ModelError("The provider is down.", "provider_error")]])
    assert turn.error.code == "provider_error"
    # With an id that stands in the log.
    assert re.fullmatch(r"The provider is down \(error [0-9a-f]{12}\)\.", turn.error.message)
    assert turn.messages[-1].content == "Half an "
    assert turn.messages[-1].is_partial


async def test_an_error_in_the_middle_of_a_call_leaves_valid_history() -> None:
    turn = await run_script([[ToolCallDelta(0, "c1", "add", '{"a":1'), ModelError("Gone.")]], add)
    assert turn.error.code == "provider_error"
    assert turn.results == ["No result: the run ended with an error first."]
    assert turn.journal.outcomes == []
    assert streamed_arguments(turn) == '{"a":null,"__not_json__":""}'


async def test_the_user_reads_only_the_id_of_an_unexpected_error(caplog: pytest.LogCaptureFixture) -> None:
    turn = await run_script([RuntimeError("the secret is 42")])
    assert turn.error.code == "internal_error"
    assert "secret" not in turn.error.message
    error_id = turn.error.message.split("error ")[1].rstrip(").")
    assert error_id in caplog.text


async def test_an_empty_answer_is_no_success() -> None:
    assert (await run_script([Reply()])).error.code == "provider_error"


async def test_an_answer_cut_by_the_providers_limit_is_kept_as_partial() -> None:
    turn = await run_script([Reply(text="Once upon a", finish_reason="length")])
    assert turn.custom("message.cut")[0]["reason"] == "length"
    assert turn.messages[-1].is_partial
    assert turn.ending.type == "RUN_FINISHED"


async def test_tokens_used_up_by_reasoning_alone_are_a_limit() -> None:
    turn = await run_script([Reply(reasoning="Hm...", finish_reason="length")])
    assert turn.error.code == "limit_reached"


async def test_rounds_are_limited() -> None:
    turns = [call("add", f'{{"a":{n},"b":1}}') for n in range(9)]
    turn = await run_script(turns, add, limits=Limits(rounds=3))
    assert turn.error.code == "limit_reached"
    assert "3 model calls" in turn.error.message
    assert len(turn.model.requests) == 3


async def test_tokens_are_limited_before_more_tools_run() -> None:
    reply = Reply(tool_calls=(call("add", '{"a":1,"b":2}'),), usage=Usage(90, 20), finish_reason="tool_calls")
    turn = await run_script([reply], add, limits=Limits(tokens=100))
    assert turn.error.code == "limit_reached"
    assert "100 tokens" in turn.error.message
    assert turn.journal.started == []


async def test_an_answer_within_the_rounds_is_given_even_past_the_token_limit() -> None:
    turn = await run_script([Reply(text="Yes", usage=Usage(90, 20))], limits=Limits(tokens=100))
    assert turn.ending.type == "RUN_FINISHED"


async def test_a_run_that_takes_too_long_is_ended() -> None:
    turn = await run_script([["So far", asyncio.Event().wait()]], limits=Limits(seconds=0.05))
    assert turn.error.code == "limit_reached"
    assert "0.05 seconds" in turn.error.message
    assert turn.messages[-1].content == "So far"


async def test_the_time_limit_never_interrupts_the_reader() -> None:
    plan = plan_for([["one", "two"]], limits=Limits(seconds=0.02))
    async with aclosing(run_turn(plan, Transcript())) as events:
        kinds = []
        async for event in events:
            kinds.append(event.type)
            await asyncio.sleep(0.03)
    assert kinds[-1] == "RUN_ERROR"


async def test_without_limits_nothing_ends_the_turn() -> None:
    turns = [call("add", f'{{"a":{n},"b":1}}') for n in range(30)]
    turn = await run_script([*turns, "ok"], add, limits=Limits(0, 0, 0, 0, 0))
    assert len(turn.results) == 30


async def test_client_side_tools_are_offered_and_left_to_the_client() -> None:
    locate = tool(name="locate", description="Where the user is.")(lambda: "")
    turn = await run_script([[call("add", '{"a":1,"b":2}'), call("locate", call_id="c9")]], add, client_tools=(locate,))
    assert [t.name for t in turn.model.requests[0].tools] == ["add", "locate"]
    assert turn.outcome == Success(pending_tool_call_ids=["c9"])
    assert turn.results == ["3"]


@pytest.mark.parametrize("arguments", ['{"a":1', "here", "[1]"])
async def test_a_client_is_never_left_a_call_whose_arguments_are_no_json_object(arguments: str) -> None:
    locate = tool(name="locate", description="Where the user is.")(lambda: "")
    turn = await run_script([call("locate", arguments), "Sorry."], client_tools=(locate,))
    assert turn.outcome == Success()
    assert "JSON" in turn.results[0]
    assert turn.journal.statuses == {"locate": "error"}


async def test_a_client_side_tool_never_shadows_one_of_the_server() -> None:
    impostor = tool(name="add", description="Mine.")(lambda: "")
    turn = await run_script([call("add", '{"a":1,"b":2}'), "3"], add, client_tools=(impostor,))
    assert [t.description for t in turn.model.requests[0].tools] == ["Add two numbers."]
    assert turn.results == ["3"]


async def test_calls_can_be_left_to_the_caller() -> None:
    turn = await run_script([call("add", '{"a":1,"b":2}', "c1")], add, execute=False)
    assert turn.outcome == Success(pending_tool_call_ids=["c1"])
    assert turn.journal.started == []


async def test_a_tool_can_be_offered_only_in_some_circumstances() -> None:
    admin_only = add.replace(available=lambda context: "admin" in context.extra)
    needy = add.replace(name="needy", needs_context=("region",))
    turn = await run_script(["ok"], admin_only, needy, context=ToolContext(extra={"admin": True}))
    assert [t.name for t in turn.model.requests[0].tools] == ["add"]


async def test_a_tool_result_can_be_the_answer() -> None:
    turn = await run_script([call("add", '{"a":1,"b":2}')], add.replace(return_direct=True))
    assert turn.messages[-1] == Message("assistant", "3", id=turn.messages[-1].id)
    assert len(turn.model.requests) == 1


async def test_of_several_calls_all_must_be_direct_for_that() -> None:
    direct = add.replace(name="direct", return_direct=True)
    turn = await run_script([[call("add", '{"a":1,"b":2}'), call("direct", '{"a":1,"b":2}')], "Both 3."], add, direct)
    assert turn.messages[-1].content == "Both 3."


async def test_an_empty_result_is_no_answer() -> None:
    silent = Tool.from_function(lambda: " ", name="silent", description="Say nothing.", return_direct=True)
    turn = await run_script([call("silent"), "It said nothing."], silent)
    assert turn.messages[-1].content == "It said nothing."


async def test_history_is_cut_to_its_budget() -> None:
    old = [Message("user", "x" * 4000, id="a"), Message("assistant", "y" * 4000, id="b")]
    turn = await run_script(["ok"], messages=(Message("system", "Be kind."), *old, USER), history_tokens=200)
    assert [m.content for m in turn.model.requests[0].messages] == ["Be kind.", "Hello"]


async def test_cancelling_stops_the_provider_and_leaves_the_partial_answer() -> None:
    asked, stopped = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    transcript = Transcript()
    plan = plan_for([[TextDelta("Half"), hang()]])

    async def read() -> None:
        async with aclosing(run_turn(plan, transcript)) as events:
            async for _ in events:
                pass

    task = asyncio.create_task(read())
    await asyncio.wait_for(asked.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped.is_set()
    assert [event.type for event in transcript.close("cancelled")] == ["TEXT_MESSAGE_END"]
    assert [(m.content, m.is_partial) for m in transcript.messages] == [("Half", True)]


async def test_on_text_gets_the_same_events_in_the_same_order() -> None:
    turns = [["One", " moment", call("add", '{"a":1,"b":2}')], [ReasoningDelta("Hm"), "It ", "is ", "3"]]
    seen, yielded = [], []
    for is_told in (False, True):
        events: list[Event] = []
        transcript, count = Transcript(), 0
        async with aclosing(run_turn(plan_for(turns, add), transcript, events.append if is_told else None)) as turn:
            async for event in turn:
                events.append(event)
                count += 1
        yielded.append(count)
        seen.append([(event.type, getattr(event, "delta", "")) for event in events])
        assert [message.content for message in transcript.messages] == ["One moment", "3", "It is 3"]
    assert seen[0] == seen[1]
    assert yielded == [len(seen[0]), len(seen[1]) - 3]  # the first piece of a text begins it


async def test_closing_the_generator_leaves_valid_history() -> None:
    transcript = Transcript()
    plan = plan_for([call("add", '{"a":1,"b":2}')], add)
    async with aclosing(run_turn(plan, transcript)) as events:
        async for event in events:
            if event.type == "TOOL_CALL_END":
                break
    transcript.close("interrupted")
    check_history([USER, *transcript.messages])


async def test_a_reader_that_stops_also_stops_the_provider() -> None:
    stopped = asyncio.Event()

    class Endless:
        name = provider = "endless"

        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
            try:
                while True:
                    yield TextDelta("and on ")
            finally:
                stopped.set()

    plan = replace(plan_for([]), model=Endless())
    async with aclosing(run_turn(plan, Transcript())) as events:
        async for event in events:
            if event.type == "TEXT_MESSAGE_CONTENT":
                break
    assert stopped.is_set()

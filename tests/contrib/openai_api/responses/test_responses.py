"""The Responses API, through the openai package itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import openai
import pytest

from assistant.contrib.openai_api.services.request_fields import GO_ON, InvalidRequest
from assistant.contrib.openai_api.services.responses.prepare import stateless_input
from assistant.contrib.openai_api.services.responses.request import parse_response
from assistant.contrib.openai_api.services.responses.stored import messages_before
from assistant.contrib.openai_api.services.stateless_runs import StatelessInput
from assistant.models import Conversation, Message, Provider, Run, ToolCall
from assistant.services.tenancy.members import find_member
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.openai_api.test_completions import client_of
from tests.factories import switch_tool
from tests.fake_answers import chunk
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db, until

pytestmark = pytest.mark.django_db(transaction=True)

PICK: dict[str, Any] = {
    "type": "function",
    "name": "pick_colour",
    "description": "Let the user pick a colour.",
    "parameters": {"type": "object", "properties": {"why": {"type": "string"}}},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def assert_same(stored: Any, given: Any) -> None:
    """Assert that a stored response is the one that was given.

    The end of a run can be read in the second after the one in which it was stored.
    """
    moments = (stored.completed_at, given.completed_at)
    assert None not in moments and abs(moments[1] - moments[0]) <= 1
    assert stored.to_dict() | {"completed_at": 0} == given.to_dict() | {"completed_at": 0}


async def test_a_response_of_a_conversation_is_read_as_it_was_given(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello there")
    async with client_of(server, cast) as client:
        answer = await client.responses.create(model="support", input="Hi", conversation="c")
        assert_same(await client.responses.retrieve(answer.id), answer)


async def test_a_response_in_one_piece(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello there")
    async with client_of(server, cast) as client:
        answer = await client.responses.create(
            model="support",
            input="Hi",
            instructions="Be brief.",
            temperature=0.5,
            max_output_tokens=99,
            metadata={"order": "7"},
        )
        again = await client.responses.retrieve(answer.id)
    assert (answer.output_text, answer.status, answer.model) == ("Hello there", "completed", "support")
    assert (answer.instructions, answer.metadata, answer.temperature) == ("Be brief.", {"order": "7"}, 0.5)
    assert answer.usage and (answer.usage.input_tokens, answer.usage.output_tokens) == (11, 7)
    asked = fake_provider.requests[-1]
    assert [one["content"] for one in asked.messages] == ["You are Acme's support assistant.", "Be brief.", "Hi"]
    assert asked.json["temperature"] == 0.5
    assert asked.json.get("max_completion_tokens", asked.json.get("max_tokens")) == 99
    assert_same(again, answer)


async def test_a_streamed_response_is_numbered_and_in_openais_order(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["One ", gate, "two"], reasoning="A count.")
    async with client_of(server, cast) as client:
        stream = await client.responses.create(model="support", input="Count", stream=True)
        events: list[Any] = []
        async for event in stream:
            events.append(event)
            if event.type == "response.output_text.delta":
                gate.release()
        stored = await client.responses.retrieve(events[-1].response.id)
    kinds = [event.type.removeprefix("response.") for event in events]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert list(dict.fromkeys(kinds)) == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "completed",
    ]
    last = events[-1].response
    assert last.output_text == "One two" and last.usage.total_tokens == 18
    assert [item.type for item in last.output] == ["reasoning", "message"]
    assert stored.to_dict()["output"] == last.to_dict()["output"]


async def test_text_after_a_call_is_an_item_of_its_own(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate", "on")
    wanted = {"index": 0, "id": "call_1", "function": {"name": "calculate", "arguments": '{"expression": "6*7"}'}}
    deltas = ({"content": "I count. "}, {"tool_calls": [wanted]}, {"content": "Soon."})
    fake_provider.stream(*(chunk(delta) for delta in deltas), chunk(finish="tool_calls"))
    fake_provider.reply("It is 42")
    fake_provider.reply("You are welcome")
    async with client_of(server, cast) as client:
        stream = await client.responses.create(model="support", input="6 times 7?", stream=True)
        answer: Any = [event async for event in stream][-1]
        assert [item.type for item in answer.response.output] == ["message", "mcp_call", "message", "message"]
        ids = [item.id for item in answer.response.output]
        assert len(set(ids)) == 4
        refers: list[Any] = [{"type": "item_reference", "id": one} for one in ids]
        asked, thanks = ({"role": "user", "content": text} for text in ("6 times 7?", "Thanks"))
        await client.responses.create(model="support", input=[asked, *refers, thanks])  # type: ignore[list-item]
        unknown: Any = {"type": "item_reference", "id": ids[0][:36] + "nothing-part2"}
        with pytest.raises(openai.BadRequestError) as refused:
            await client.responses.create(model="support", input=[asked, unknown])  # type: ignore[list-item]
    assert refused.value.code == "item_not_found"
    told = fake_provider.requests[-1].messages
    assert [one["content"] for one in told if one["role"] == "assistant" and one["content"]] == [
        "I count. Soon.",
        "It is 42",
    ]


async def test_a_response_continues_an_earlier_one(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello Ann")
    fake_provider.reply("You are Ann")
    fake_provider.reply("Still Ann")
    async with client_of(uvicorn_server, cast) as client:
        first = await client.responses.create(model="support", input="I am Ann", instructions="Only now.")
        second = await client.responses.create(model="support", input="Who?", previous_response_id=first.id)
        third = await client.responses.create(model="support", input="And now?", previous_response_id=second.id)
        branch = await client.responses.create(model="support", input="Other", previous_response_id=first.id)
    assert third.previous_response_id == second.id and branch.status == "completed"
    told = [one["content"] for one in fake_provider.requests[2].messages[1:]]
    assert told == ["I am Ann", "Hello Ann", "Who?", "You are Ann", "And now?"]
    assert [one["content"] for one in fake_provider.requests[3].messages[1:]] == ["I am Ann", "Hello Ann", "Other"]


async def test_an_input_that_ends_with_an_answer_goes_on(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("three.")
    history: Any = [{"role": "user", "content": "Count"}, {"role": "assistant", "content": "One, two,"}]
    async with client_of(uvicorn_server, cast) as client:
        response = await client.responses.create(model="support", input=history)
    assert response.output_text == "three."
    assert [one["content"] for one in fake_provider.requests[-1].messages[1:]] == ["Count", "One, two,", GO_ON]


async def test_the_callers_history_is_kept_with_the_response(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    history: Any = [
        {"role": "developer", "content": "Answer in French."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Bonjour"},
        {"role": "user", "content": [{"type": "input_text", "text": "And now?"}]},
    ]
    async with client_of(uvicorn_server, cast) as client:
        first = await client.responses.create(model="support", input=history)
        items = await client.responses.input_items.list(first.id, order="asc")
        page = await client.responses.input_items.list(first.id, limit=1)
        await client.responses.create(model="support", input="More", previous_response_id=first.id)
    assert [(one.role, one.content[0].text) for one in items.data] == [  # type: ignore[union-attr]
        ("user", "Answer in French."),
        ("user", "Hi"),
        ("assistant", "Bonjour"),
        ("user", "And now?"),
    ]
    assert page.data[0].id == items.data[-1].id and page.has_more
    told = [one["content"] for one in fake_provider.requests[-1].messages[1:]]
    assert told[:4] == ["Answer in French.", "Hi", "Bonjour", "And now?"] and told[-1] == "More"


@pytest.mark.parametrize("stream", [False, True])
async def test_the_callers_own_tools_are_called_by_the_caller(
    stream: bool, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("pick_colour", {"why": "paint"})
    fake_provider.reply("Blue it is.")
    async with client_of(uvicorn_server, cast) as client:
        given: dict[str, Any] = {"model": "support", "input": "Which?", "tools": [PICK], "tool_choice": "required"}
        if stream:
            async with client.responses.stream(**given) as streamed:
                async for _ in streamed:
                    pass
                first = await streamed.get_final_response()
        else:
            first = await client.responses.create(**given)
        (call,) = first.output
        assert call.type == "function_call" and (call.name, json.loads(call.arguments)) == (
            "pick_colour",
            {"why": "paint"},
        )
        assert fake_provider.requests[-1].json["tool_choice"] == "required"
        result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "blue"}
        with pytest.raises(openai.BadRequestError, match="every tool call"):
            await client.responses.create(model="support", input="x", previous_response_id=first.id)
        rest = await client.responses.create(
            model="support",
            input=[result],
            previous_response_id=first.id,
            tools=[PICK],  # type: ignore[list-item]
        )
    assert rest.output_text == "Blue it is."
    assert [one["role"] for one in fake_provider.requests[-1].messages] == ["system", "user", "assistant", "tool"]
    assert "\nblue\n[" in fake_provider.requests[-1].messages[-1]["content"]  # fenced


async def test_calls_in_the_input_are_put_together(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    said: Any = [
        {"role": "user", "content": "Which?"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"role": "assistant", "content": "Let me ask."},
        {"type": "function_call", "call_id": "a", "name": "pick_colour", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "pick_colour", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "red"},
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "blue"}]},
        {"type": "mcp_call", "id": "m", "name": "calculate", "arguments": "{}", "server_label": "x", "output": "42"},
        {"role": "user", "content": "So?"},
    ]
    async with client_of(uvicorn_server, cast) as client:
        await client.responses.create(model="support", input=said, tools=[PICK])  # type: ignore[list-item]
    told = fake_provider.requests[-1].messages[1:]
    roles = [one["role"] for one in told]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "tool", "user"]
    assert told[1]["content"] == "Let me ask." and len(told[1]["tool_calls"]) == 2


async def test_the_tenants_tools_run_on_the_server_and_are_items(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate", "on")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("It is 42.")
    async with client_of(uvicorn_server, cast) as client:
        events = [e async for e in await client.responses.create(model="support", input="6*7?", stream=True)]
        answer: Any = events[-1].response  # type: ignore[union-attr]
        call, message = answer.output
        assert (call.type, call.name, call.server_label, call.status) == (
            "mcp_call",
            "calculate",
            "support",
            "completed",
        )
        assert "42" in call.output and message.content[0].text == "It is 42."
        assert (await client.responses.retrieve(answer.id)).to_dict()["output"] == answer.to_dict()["output"]
        # As the AI SDK refers to what is stored.
        fake_provider.reply("Yes.")
        refers: list[Any] = [{"type": "item_reference", "id": item.id} for item in answer.output]
        asked, more = {"role": "user", "content": "6*7?"}, {"role": "user", "content": "Sure?"}
        await client.responses.create(model="support", input=[asked, *refers, more])  # type: ignore[list-item]
    told = fake_provider.requests[-1].messages[1:]
    assert [one["role"] for one in told] == ["user", "assistant", "tool", "assistant", "user"]
    assert told[3]["content"] == "It is 42."
    assert (await in_db(ToolCall.objects.get)()).status == "ok"


async def test_what_an_item_refers_to_keeps_its_marks_and_a_result_is_nothing_said(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("It is 42.")
    async with client_of(uvicorn_server, cast) as client:
        answer = await client.responses.create(model="support", input="6*7?")
    await Message.objects.filter(content="It is 42.").aupdate(sources=["Returns policy"])
    member = await in_db(find_member)(user_id=cast.alice.pk, tenant_slug=cast.acme.slug)
    assert member is not None

    def given(item: str) -> StatelessInput:
        asked = [{"role": "user", "content": "Another?"}, {"type": "item_reference", "id": item}]
        body = {"model": "support", "input": [*asked, {"role": "user", "content": "Sure?"}]}
        return stateless_input(member=member, wanted=parse_response(body), response="resp_1")

    messages = (await in_db(given)(answer.output[-1].id or "")).messages
    assert [one.sources for one in messages] == [(), ("Returns policy",), ()]
    result = await Message.objects.aget(role="tool")
    with pytest.raises(InvalidRequest, match="no item"):
        await in_db(given)(f"msg_{result.conversation_id.hex}{result.message_id}")


async def test_a_chain_is_read_back_to_the_messages_that_a_request_may_have(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, monkeypatch: Any
) -> None:
    monkeypatch.setattr("assistant.contrib.openai_api.services.responses.stored.MAX_MESSAGES", 5)
    previous: Any = openai.omit
    async with client_of(uvicorn_server, cast) as client:
        for number in range(3):
            fake_provider.reply(f"Answer {number}.")
            asked = await client.responses.create(
                model="support", input=f"Question {number}?", previous_response_id=previous
            )
            previous = asked.id
    member = await in_db(find_member)(user_id=cast.alice.pk, tenant_slug=cast.acme.slug)
    assert member is not None
    told = await in_db(messages_before)(member=member, run=await Run.objects.aget(run_id=previous))
    assert [one.content for one in told] == ["Question 1?", "Answer 1.", "Question 2?", "Answer 2."]


@pytest.mark.parametrize("address", ["conversations/%00", "conversations/a%00b/items", "files?purpose=%00"])
async def test_an_address_with_nul_is_refused(address: str, uvicorn_server: Server, cast: Cast) -> None:
    headers = {"Authorization": f"Bearer {await in_db(key_of)(cast.acme, cast.alice)}"}
    async with httpx2.AsyncClient(base_url=uvicorn_server.url, headers=headers) as http:
        answer = await http.get(f"/v1/{address}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input")


async def test_a_tool_that_needs_approval_is_refused(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("I may not.")
    async with client_of(uvicorn_server, cast) as client:
        answer = await client.responses.create(model="support", input="6*7?")
        again = await client.responses.retrieve(answer.id)
    call: Any = answer.output[0]
    assert answer.output_text == "I may not." and call.status == "failed"
    assert_same(again, answer)
    assert (await in_db(ToolCall.objects.get)()).status == "refused"


async def test_structured_output(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply('{"answer": 42}')
    format_: Any = {"type": "json_schema", "name": "number", "schema": SCHEMA, "strict": True}
    async with client_of(uvicorn_server, cast) as client:
        answer = await client.responses.create(
            model="support", input="?", text={"format": format_, "verbosity": "low"}, reasoning={"effort": "low"}
        )
    asked = fake_provider.requests[-1].json
    assert asked["response_format"]["json_schema"]["schema"] == SCHEMA and json.loads(answer.output_text)["answer"]
    assert (asked["verbosity"], asked["reasoning_effort"]) == ("low", "low")
    assert answer.to_dict()["text"]["format"]["name"] == "number"  # type: ignore[index]


async def test_an_answer_that_was_cut_is_incomplete(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Once upon", finish="length")
    async with client_of(uvicorn_server, cast) as client:
        answer = await client.responses.create(model="support", input="A story", max_output_tokens=16)
        again = await client.responses.retrieve(answer.id)
    for one in (answer, again):
        assert one.status == "incomplete" and one.incomplete_details
        assert one.incomplete_details.reason == "max_output_tokens"


def untimed(event: Any) -> dict[str, Any]:
    """Return an event without when its response was completed: for who follows, that is when they are told."""
    found: dict[str, Any] = event.to_dict()
    found.get("response", {}).pop("completed_at", None)
    return found


async def test_a_background_response_is_followed_from_any_event(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["One ", "two ", gate, "three"])
    async with client_of(server, cast) as client:
        begun = await client.responses.create(model="support", input="Count", background=True)
        assert begun.status in ("queued", "in_progress") and begun.output == []
        await asyncio.to_thread(gate.wait_reached)
        assert (await client.responses.retrieve(begun.id)).status == "in_progress"
        seen: list[Any] = []
        async for event in await client.responses.retrieve(begun.id, stream=True):
            seen.append(event)
            if event.type == "response.output_text.delta":
                gate.release()
        for after in (0, 3, len(seen) - 2):
            rest = [e async for e in await client.responses.retrieve(begun.id, stream=True, starting_after=after)]
            assert [untimed(one) for one in rest] == [untimed(one) for one in seen[after + 1 :]]
        assert (await client.responses.retrieve(begun.id)).output_text == "One two three"


async def test_a_background_stream_outlives_its_client(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with client_of(server, cast) as client:
        stream = await client.responses.create(model="support", input="Hi", background=True, stream=True)
        response, last = "", 0
        async for event in stream:
            if event.type == "response.created":
                response = event.response.id
            last = event.sequence_number
            if event.type == "response.output_text.delta":
                break
        await stream.close()
        gate.release()
        rest = [e async for e in await client.responses.retrieve(response, stream=True, starting_after=last)]
    assert [one.sequence_number for one in rest] == list(range(last + 1, last + 1 + len(rest)))
    assert rest[-1].type == "response.completed" and rest[-1].response.output_text == "Hello"


async def test_cancelling_a_background_response(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with client_of(server, cast) as client:
        begun = await client.responses.create(model="support", input="Hi", background=True)
        await asyncio.to_thread(gate.wait_reached)
        with pytest.raises(openai.ConflictError):
            await client.responses.delete(begun.id)
        stopped = await client.responses.cancel(begun.id)
        assert stopped.status == "cancelled"
        assert (await client.responses.cancel(begun.id)).status == "cancelled"
        events = [e async for e in await client.responses.retrieve(begun.id, stream=True)]
    assert events[-1].response.status == "cancelled"  # type: ignore[union-attr]


@pytest.mark.parametrize("stream", [False, True])
async def test_disconnecting_stops_a_response(
    stream: bool, server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with client_of(server, cast) as client:

        async def ask() -> None:
            answer: Any = await client.responses.create(model="support", input="Hi", stream=stream)
            async for _ in answer:
                pass

        asking = asyncio.create_task(ask())
        await asyncio.to_thread(gate.wait_reached)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    await until(lambda: Run.objects.filter(status=Run.Status.CANCELLED).exists())


async def test_what_is_not_stored_can_neither_be_read_nor_continued(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with client_of(uvicorn_server, cast) as client:
        answer = await client.responses.create(model="support", input="Hi", store=False)
        assert answer.to_dict()["store"] is False
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(answer.id)
        with pytest.raises(openai.BadRequestError) as refused:
            await client.responses.create(model="support", input="x", previous_response_id=answer.id)
        assert refused.value.code == "previous_response_not_found"
        with pytest.raises(openai.BadRequestError):
            await client.responses.create(
                model="support", input=[{"type": "item_reference", "id": answer.output[0].id or ""}]
            )


async def test_a_deleted_response_is_gone(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with client_of(uvicorn_server, cast) as client:
        answer = await client.responses.create(model="support", input="Hi")
        await client.responses.delete(answer.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(answer.id)
    assert not await in_db(Conversation.objects.exists)()


async def test_a_response_of_somebody_else_is_not_there(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with client_of(uvicorn_server, cast) as client:
        answer = await client.responses.create(model="support", input="A secret")
        response, item = answer.id, answer.output[0].id or ""
    keys = [
        await in_db(key_of)(cast.globex, cast.mallory),
        # Of the same tenant, and of the same member with a key that may read its own runs alone.
        await in_db(key_of)(cast.acme, cast.alice, scopes=["chat"]),
    ]
    for key in keys:
        async with openai.AsyncOpenAI(base_url=f"{uvicorn_server.url}/v1", api_key=key, max_retries=0) as other:
            for call in (
                other.responses.retrieve(response),
                other.responses.delete(response),
                other.responses.cancel(response),
                other.responses.input_items.list(response),
            ):
                with pytest.raises(openai.NotFoundError):
                    await call
            with pytest.raises(openai.NotFoundError):
                await other.responses.retrieve(response, stream=True)
            with pytest.raises(openai.BadRequestError) as refused:
                await other.responses.create(model="support", input="x", previous_response_id=response)
            assert refused.value.code == "previous_response_not_found"
            with pytest.raises(openai.BadRequestError):
                await other.responses.create(model="support", input=[{"type": "item_reference", "id": item}])
    assert await in_db(Run.objects.count)() == 1


async def test_a_key_with_chat_alone_follows_its_own_responses(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with client_of(uvicorn_server, cast, scopes=["chat"]) as client:
        first = await client.responses.create(model="support", input="Hi")
        assert (await client.responses.retrieve(first.id)).id == first.id
        assert await client.responses.create(model="support", input="x", previous_response_id=first.id)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_repeated_request_gets_the_same_response(
    stream: bool, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Once")
    headers = {"Idempotency-Key": "one"}
    async with client_of(uvicorn_server, cast) as client:

        async def ask() -> Any:
            answer: Any = await client.responses.create(
                model="support", input="Hi", stream=stream, extra_headers=headers
            )
            return [event async for event in answer][-1].response if stream else answer

        first = await ask()
        assert_same(await ask(), first)
        with pytest.raises(openai.ConflictError):
            await client.responses.create(model="support", input="Other", extra_headers=headers)
    assert len(fake_provider.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_a_providers_failure_has_its_status_and_is_stored(
    stream: bool, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.respond(401)
    async with client_of(uvicorn_server, cast) as client:
        with pytest.raises(openai.InternalServerError) as failed:
            await client.with_options(max_retries=2).responses.create(model="support", input="Hi", stream=stream)
        assert failed.value.status_code == 502 and failed.value.code == "provider_error"
        stored = await client.responses.retrieve((await in_db(Run.objects.get)()).run_id)
    assert stored.status == "failed" and stored.error and stored.error.code == "provider_error"


async def test_a_response_that_breaks_off_fails_in_the_stream(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate", "on")
    fake_provider.reply("Let me see.", calls=[("calculate", {"expression": "1"})])
    fake_provider.respond(401)
    async with client_of(uvicorn_server, cast) as client:
        events = [e async for e in await client.responses.create(model="support", input="Hi", stream=True)]
        again = [e async for e in await client.responses.retrieve(events[0].response.id, stream=True)]  # type: ignore[union-attr]
    last: Any = events[-1]
    assert last.type == "response.failed" and last.response.error.code == "provider_error"
    assert again[-1].to_dict() == last.to_dict()


@pytest.mark.parametrize(
    ("change", "param", "code"),
    [
        ({"input": []}, "input", "invalid_value"),
        ({"input": None}, "input", "invalid_value"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input[0].role", "invalid_value"),
        ({"input": [{"type": "computer_call"}]}, "input[0].type", "invalid_value"),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "input[0].content[0]", "invalid_value"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content[0]", "invalid_value"),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}, "input[0]", "invalid_value"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input[0]", "item_not_found"),
        ({"input": [{"type": ["message"], "role": "user"}]}, "input[0].type", "invalid_value"),
        ({"input": [{"role": "user", "content": [{"type": {}, "text": "x"}]}]}, "input[0].content[0]", "invalid_value"),
        ({"temperature": "hot"}, "temperature", "invalid_value"),
        ({"max_output_tokens": 0}, "max_output_tokens", "invalid_value"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type", "invalid_value"),
        ({"tools": [{"type": "function", "name": "no name!"}]}, "tools[0]", "invalid_value"),
        ({"tool_choice": "required"}, "tool_choice", "invalid_value"),
        ({"tool_choice": {"type": "function", "name": "calculate"}}, "tool_choice", "invalid_value"),
        ({"tools": [PICK], "tool_choice": {"type": "function", "name": []}}, "tool_choice", "invalid_value"),
        (
            {"tools": [PICK], "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"name": {}}]}},
            "tool_choice",
            "invalid_value",
        ),
        ({"tools": [{**PICK, "strict": {}}]}, "strict", "invalid_value"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema", "invalid_value"),
        ({"reasoning": {"effort": "huge"}}, "reasoning.effort", "invalid_value"),
        ({"include": ["message.output_text.logprobs"]}, "include", "invalid_value"),
        ({"metadata": {"a": 1}}, "metadata.a", "invalid_value"),
        ({"background": True, "store": False}, "background", "invalid_value"),
        ({"stream_options": {"include_obfuscation": True}}, "stream_options", "invalid_value"),
        ({"previous_response_id": "resp_1"}, "previous_response_id", "previous_response_not_found"),
        ({"prompt": {"id": "p"}}, "prompt", "unsupported_parameter"),
        ({"max_tool_calls": 3}, "max_tool_calls", "unsupported_parameter"),
        ({"messages": []}, "messages", "unknown_parameter"),
        ({"model": None}, "model", "invalid_value"),
    ],
    ids=str,
)
async def test_a_request_that_is_not_valid_names_what_is_wrong(
    change: dict[str, Any], param: str, code: str, uvicorn_server: Server, cast: Cast
) -> None:
    body = {"model": "support", "input": "Hi", **change}
    headers = {"Authorization": f"Bearer {await in_db(key_of)(cast.acme, cast.alice)}"}
    async with httpx2.AsyncClient(base_url=uvicorn_server.url, headers=headers) as http:
        answer = await http.post("/v1/responses", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (400, param, code), error
    assert not await in_db(Run.objects.exists)()


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("assistants", "/v1/models"),
        ("threads/x/runs", "/v1/responses"),
        ("embeddings", "/v1/responses"),
        ("response", "/v1/responses"),
        ("chat/completion", "/v1/chat/completions"),
    ],
)
async def test_an_address_that_is_not_there_names_one_that_is(
    address: str, named: str, uvicorn_server: Server, cast: Cast
) -> None:
    async with httpx2.AsyncClient(base_url=uvicorn_server.url) as http:
        answer = await http.post(f"/v1/{address}", json={})
    assert answer.status_code == 404 and named in answer.json()["error"]["message"]

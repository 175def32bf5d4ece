from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from assistant.client import ChatClient, Decision, InMemoryStore, Limits, RunFailed
from assistant.client.agents import Agent
from assistant.core.llm.protocol import ModelError, ModelRequest, TextDelta
from assistant.core.toolcalls.protocols import FixedToolset
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.providers import ScriptedModel
from assistant.toolkit import InvalidTool, Media, Registry, TenantInfo, ToolContext, ToolError, UnknownTool, tool

PIXEL = b"\x89PNG\r\n\x1a\n"
CUSTOMER = ToolCall("", "get_customer", '{"number":42}')


@tool
def get_customer(number: int, context: ToolContext) -> str:
    """Retrieve a customer's record."""
    return f"{number} of {context.extra.get('tenant_id') or context.tenant.slug}"


class Article(BaseModel):
    title: str
    words: int


def client_for(*turns: Any, **settings: Any) -> tuple[ChatClient, ScriptedModel]:
    model = ScriptedModel(turns)
    return ChatClient(model=model, **settings), model


async def test_a_reply_has_text_usage_and_a_finish_reason() -> None:
    client, model = client_for("Hello you", system="Be kind.")
    reply = await client.call("Hi")
    assert (reply.text, reply.finish_reason) == ("Hello you", "stop")
    assert reply.usage.total_tokens > 0
    assert [m.content for m in model.requests[0].messages] == ["Be kind.", "Hi"]


async def test_tools_run_with_the_clients_context() -> None:
    client, _ = client_for(CUSTOMER, "Bob.", tools=[get_customer], context={"tenant_id": "acme"})
    reply = await client.call("Tell me about customer 42")
    (called,) = reply.tool_calls
    assert (called.name, called.arguments, called.result, called.error) == (
        "get_customer",
        {"number": 42},
        "42 of acme",
        None,
    )
    assert reply.text == "Bob."


async def test_a_calls_context_is_merged_over_the_clients_and_its_tools_replace_them() -> None:
    @tool
    def look(context: ToolContext) -> str:
        """Look."""
        return " ".join(f"{key}={value}" for key, value in sorted(context.extra.items()))

    client, model = client_for(ToolCall("", "look", "{}"), "ok", tools=[get_customer], context={"a": 1, "b": 1})
    reply = await client.call("Look", tools=[look], context={"b": 2, "c": 3})
    assert reply.tool_calls[0].result == "a=1 b=2 c=3"
    assert [t.name for t in model.requests[0].tools] == ["look"]


async def test_tenant_as_a_string_is_an_extra_value() -> None:
    @tool
    def whose(context: ToolContext) -> str:
        """Say whose."""
        return f"{context.extra['tenant']} {context.extra['user']} {context.tenant.slug!r}"

    client, _ = client_for(ToolCall("c", "whose", "{}"), "ok", tools=[whose], context={"tenant": "acme", "user": 7})
    assert (await client.call("Hi")).tool_calls[0].result == "acme 7 ''"


@pytest.mark.parametrize("tenant", [{"slug": "acme"}, TenantInfo(slug="acme")])
async def test_a_tenant_is_given_as_a_value_or_a_mapping(tenant: Any) -> None:
    client, _ = client_for(CUSTOMER, "ok", tools=[get_customer], context={"tenant": tenant})
    assert (await client.call("42?")).tool_calls[0].result == "42 of acme"


async def test_a_mapping_with_other_keys_is_an_extra_value() -> None:
    seen = []

    @tool
    def look(context: ToolContext) -> str:
        """Look."""
        seen.append((context.tenant.slug, context.user.username, dict(context.extra)))
        return "ok"

    given = {"tenant": {"slug": "acme", "plan": "pro"}, "user": {"username": "alice"}}
    client, _ = client_for(ToolCall("", "look", "{}"), "Ok.", tools=[look], context=given)
    await client.call("Look")
    assert seen == [("acme", "alice", {"tenant": {"slug": "acme", "plan": "pro"}})]


async def test_an_unknown_argument_of_a_call_is_an_error() -> None:
    client, model = client_for("Hi", tools=[get_customer])
    with pytest.raises(TypeError, match="no settings named execute_tool"):
        await client.call("Hi", execute_tool=False)  # type: ignore[call-overload]
    assert model.requests == []


async def test_a_stream_can_be_read_by_hand_and_closed() -> None:
    ended = []

    class Endless(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
            try:
                while True:
                    yield TextDelta("more ")
            finally:
                ended.append(request)

    stream = ChatClient(model=Endless("")).stream("Hi")
    async with aclosing(stream):
        kinds = [(await anext(stream)).type for _ in range(3)]
        async for event in stream:  # continues where it was
            assert event.type == "TEXT_MESSAGE_CONTENT"
            break
        assert not ended
    assert kinds == ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    assert len(ended) == 1
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_a_string_is_a_script_of_one_reply() -> None:
    assert (await ChatClient(model=ScriptedModel("Hello you")).call("Hi")).text == "Hello you"


async def test_nothing_of_the_context_reaches_the_model() -> None:
    client, model = client_for(CUSTOMER, "ok", tools=[get_customer], context={"token": "t0p-secret"})
    await client.call("42?")
    assert "t0p-secret" not in repr(model.requests)


async def test_functions_and_names_of_tools_are_accepted() -> None:
    def now() -> str:
        """Tell the time."""
        return "noon"

    client, model = client_for("ok", tools=[now, "get_customer"], resolvers=[{}.get, Registry([get_customer])])
    await client.call("Hi")
    assert [t.name for t in model.requests[0].tools] == ["now", "get_customer"]
    with pytest.raises(UnknownTool):
        await client.call("Hi", tools=["nothing"])


async def test_a_conversation_continues_from_its_messages() -> None:
    client, model = client_for("One", "Two", system="Count.")
    first = await client.call("Begin")
    second = await client.call("Go on", history=first.messages)
    assert [m.content for m in model.requests[1].messages] == ["Count.", "Begin", "One", "Go on"]
    assert [m.content for m in second.messages] == ["Begin", "One", "Go on", "Two"]


async def test_messages_in_the_wire_format_are_accepted() -> None:
    client, model = client_for("ok")
    await client.call([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])
    assert [m.role for m in model.requests[0].messages] == ["system", "user"]
    with pytest.raises(ValueError, match="role"):
        await client.call([{"role": "robot", "content": "Hi"}])


async def test_a_store_keeps_conversations_apart() -> None:
    client, model = client_for("A1", "B1", "A2", store=InMemoryStore())
    await client.call("a", conversation="a")
    await client.call("b", conversation="b")
    await client.call("more", conversation="a")
    assert [m.content for m in model.requests[2].messages] == ["a", "A1", "more"]


async def test_a_failed_turn_is_stored_as_far_as_it_got() -> None:
    store = InMemoryStore()
    client, _ = client_for(["Half", ModelError("Gone.")], store=store)
    with pytest.raises(RunFailed) as failed:
        await client.call("Hi", conversation="c")
    assert (failed.value.code, failed.value.reply.text) == ("provider_error", "Half")
    assert failed.value.message.startswith("Gone (error ")
    assert [(m.content, m.is_partial) for m in await store.load("c")] == [("Hi", False), ("Half", True)]


async def test_a_stream_gives_events_and_then_the_reply() -> None:
    client, _ = client_for(CUSTOMER, "It is Bob", tools=[get_customer])
    stream = client.stream("42?")
    deltas, ids = [], set()
    async for event in stream:
        if event.type == "TEXT_MESSAGE_CONTENT":
            deltas.append(event.delta)  # type: ignore[attr-defined]
        elif event.type == "TOOL_CALL_START":
            ids.add(event.tool_call_id)  # type: ignore[attr-defined]
    assert deltas == ["It", " is", " Bob"]
    assert {call.id for call in stream.reply.tool_calls} == ids


async def test_a_failure_is_the_last_event_of_a_stream() -> None:
    client, _ = client_for(ModelError("Slow down.", "provider_rate_limited"))
    stream = client.stream("Hi")
    assert [event.type async for event in stream][-1] == "RUN_ERROR"
    with pytest.raises(RunFailed, match="Slow down"):
        _ = stream.reply


async def test_the_caller_can_run_the_tools_itself() -> None:
    client, model = client_for(CUSTOMER, CUSTOMER, "Bob.", tools=[get_customer], context={"tenant_id": "acme"})
    reply = await client.call("42?", execute_tools=False)
    rounds = 0
    while reply.pending:
        assert reply.tool_calls[0].result is None
        done = await client.execute(reply)
        assert done.tool_calls[0].result == "42 of acme"
        reply = await client.call(history=done.messages, execute_tools=False)
        rounds += 1
    assert (rounds, reply.text) == (2, "Bob.")
    assert [m.role for m in model.requests[2].messages] == ["user", "assistant", "tool", "assistant", "tool"]


async def test_calls_run_by_hand_have_the_tools_and_context_of_their_call() -> None:
    client, _ = client_for(CUSTOMER)
    reply = await client.call("42?", execute_tools=False, tools=[get_customer], context={"tenant_id": "globex"})
    assert (await client.execute(reply)).tool_calls[0].result == "42 of globex"


async def test_a_call_that_needs_approval_waits_and_then_runs_once_approved() -> None:
    careful = get_customer.replace(requires_approval=True)
    client, _ = client_for(CUSTOMER, "Bob.", tools=[careful], context={"tenant_id": "acme"})
    waiting = await client.call("42?")
    assert waiting.needs_approval
    (call,) = waiting.pending
    reply = await client.call(history=waiting.messages, decisions={call.id: Decision(True)})
    assert (reply.text, reply.messages[2].content) == ("Bob.", "42 of acme")


async def test_a_tool_error_is_in_the_reply() -> None:
    @tool
    def refuse() -> str:
        """Refuse."""
        raise ToolError("No.")

    client, _ = client_for(ToolCall("", "refuse", "{}"), "Sorry.", tools=[refuse])
    called = (await client.call("Go")).tool_calls[0]
    assert (called.error, called.status) == ("No.", "error")


async def test_a_reached_limit_raises_with_the_partial_reply() -> None:
    client, _ = client_for(CUSTOMER, CUSTOMER, tools=[get_customer], limits=Limits(rounds=1))
    with pytest.raises(RunFailed) as failed:
        await client.call("42?")
    assert failed.value.code == "limit_reached"
    assert len(failed.value.reply.tool_calls) == 1


@pytest.mark.parametrize(
    ("mode", "answer"),
    [
        ("native", '{"title":"Owls","words":3}'),
        ("prompt", 'Here:\n```json\n{"title":"Owls","words":3}\n```'),
        ("tool", ToolCall("", "give_answer", '{"title":"Owls","words":3}')),
    ],
)
async def test_an_answer_can_have_a_type(mode: Any, answer: Any) -> None:
    client, model = client_for(answer)
    reply = await client.call("Write", output_type=Article, output_mode=mode)
    assert reply.output == Article(title="Owls", words=3)
    request = model.requests[0]
    told = {
        "native": request.response_format is not None,
        "prompt": request.messages[0].role == "system",
        "tool": request.tool_choice == "give_answer",
    }
    assert told == {name: name == mode for name in told}


@dataclass
class Point:
    x: int
    on: date


@pytest.mark.parametrize(
    ("output_type", "text", "expected"),
    [
        (list[int], '{"value":[1,2]}', [1, 2]),
        (int | str, '{"value":"x"}', "x"),
        (Point, '{"x":1,"on":"2026-01-02"}', Point(1, date(2026, 1, 2))),
        (list[Article], '{"value":[{"title":"a","words":1}]}', [Article(title="a", words=1)]),
    ],
)
async def test_an_output_type_can_be_of_every_kind(output_type: Any, text: str, expected: object) -> None:
    client, model = client_for(text)
    assert (await client.call("?", output_type=output_type)).output == expected
    schema = model.requests[0].response_format["json_schema"]["schema"]  # type: ignore[index]
    assert schema["type"] == "object"


async def test_an_answer_that_does_not_fit_is_repaired() -> None:
    client, model = client_for('{"title":"Owls"}', "what?", '{"title":"Owls","words":3}')
    reply = await client.call("Write", output_type=Article)
    assert reply.output == Article(title="Owls", words=3)
    assert "words: Field required" in model.requests[1].messages[-1].content
    assert "not JSON" in model.requests[2].messages[-1].content


async def test_repairs_are_limited() -> None:
    client, model = client_for("no", "no", "no", "no")
    with pytest.raises(RunFailed, match="no valid Article"):
        await client.call("Write", output_type=Article)
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    "text",
    ['{"title":"a","title":"b","words":3}', "".join(f'```json\n{{"title":"{x}","words":3}}\n```\n' for x in "ab")],
)
async def test_an_ambiguous_answer_is_repaired(text: str) -> None:
    client, model = client_for(text, '{"title":"Owls","words":3}')
    assert (await client.call("Write", output_type=Article, output_mode="prompt")).output == Article(
        title="Owls", words=3
    )
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("reason", "code"),
    [("length", "limit_reached"), ("content_filter", "provider_error"), ("refusal", "provider_error")],
)
async def test_a_truncated_or_refused_answer_is_not_typed(reason: Any, code: str) -> None:
    client, model = client_for(Reply("12", finish_reason=reason), "12")
    with pytest.raises(RunFailed) as failed:
        await client.call("How many?", output_type=int)
    assert (failed.value.code, failed.value.reply.output, len(model.requests)) == (code, None, 1)


@pytest.mark.parametrize("mode", ["native", "tool", "prompt"])
async def test_the_name_of_the_answers_own_tool_is_reserved(mode: Any) -> None:
    client, model = client_for("ok", tools=[get_customer.replace(name="give_answer")])
    with pytest.raises(RunFailed, match="'give_answer'") as failed:
        await client.call("Write", output_type=Article, output_mode=mode)
    assert (failed.value.code, model.requests) == ("invalid_input", [])
    assert (await client.call("Hi")).text == "ok"


async def test_a_script_can_be_a_function_of_the_request() -> None:
    def echo(request: ModelRequest) -> str:
        return request.messages[-1].content

    client, _ = client_for(echo)
    assert (await client.call("Polly")).text == "Polly"


async def test_a_call_without_anything_to_answer_is_an_error() -> None:
    client, _ = client_for("ok")
    with pytest.raises(ValueError, match="nothing to answer"):
        await client.call()


async def test_a_call_can_continue_from_history_alone() -> None:
    client, _ = client_for("ok")
    assert (await client.call(history=[Message("user", "Hi")])).text == "ok"


def test_the_client_needs_no_django() -> None:
    code = "import sys; import assistant.client, assistant.providers; assert 'django' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2], timeout=60)


async def test_a_typed_answer_can_be_streamed_in_parts() -> None:
    client, _ = client_for('{"value": [ {"title":"Owls","words":3} , {"title":"Bats","words":4} ]}')
    titles = [[a.title for a in value] async for value in client.stream_typed("List", output_type=list[Article])]
    assert titles[-1] == ["Owls", "Bats"]
    assert ["Owls"] in titles


WRONG, RIGHT = '[{"title": "Owls"}, {"title": "No words", "words": "many"}]', '[{"title":"Bats","words":4}]'


@pytest.mark.parametrize("mode", ["native", "tool", "prompt"])
async def test_a_streamed_answer_that_does_not_fit_is_repaired(mode: Any) -> None:
    def said(value: str) -> Any:
        answer = f'{{"value": {value}}}'
        return ToolCall("", "give_answer", answer) if mode == "tool" else answer

    client, model = client_for(said(WRONG), said(RIGHT))
    values = [v async for v in client.stream_typed("List", output_type=list[Article], output_mode=mode)]
    assert values[-1] == [Article(title="Bats", words=4)]
    assert len(model.requests) == 2


async def test_a_streamed_answer_is_repaired_at_most_twice() -> None:
    client, model = client_for("no", "no", "no", "no")
    with pytest.raises(RunFailed, match="no valid Article"):
        assert not [v async for v in client.stream_typed("Write", output_type=Article)]
    assert len(model.requests) == 3


async def test_the_text_of_a_called_assistant_is_not_part_of_the_answer() -> None:
    """Although its text may look like a typed answer."""
    research = Agent(
        name="research",
        description="Look things up.",
        model=ScriptedModel(['{"title": "Not this", "words": 1}']),
        toolset=FixedToolset([]),
    )
    client, _ = client_for(ToolCall("", "research", '{"task":"?"}'), '{"title": "Owls", "words": 3}')
    values = client.stream_typed("Write", output_type=Article, tools=[research.as_tool()])
    assert [value.title async for value in values] == ["Owls"]


async def test_with_many_tools_the_model_searches_for_them() -> None:
    client, model = client_for("ok", tools=[get_customer.replace(name=f"tool_{n}") for n in range(5)], search_over=4)
    await client.call("Hi")
    assert [t.name for t in model.requests[0].tools] == ["search_tools"]


async def test_a_call_runs_once_however_often_its_reply_is_executed() -> None:
    done: list[int] = []

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        done.append(amount)
        return f"paid {amount}"

    client, _ = client_for(ToolCall("", "pay", '{"amount":5}'), tools=[pay])
    reply = await client.call("Pay", execute_tools=False)
    first, second = await client.execute(reply), await client.execute(reply)
    assert done == [5]
    assert first.tool_calls[0].result == second.tool_calls[0].result == "paid 5"


async def test_calls_that_the_caller_runs_are_approved_by_the_caller() -> None:
    careful = get_customer.replace(requires_approval=True)
    client, _ = client_for([CUSTOMER, CUSTOMER], tools=[careful, get_customer.replace(name="other")])
    reply = await client.call("42?", execute_tools=False)
    waiting = await client.execute(reply)
    assert [call.status for call in waiting.tool_calls] == ["awaiting_approval"] * 2
    assert waiting.needs_approval
    first = reply.pending[0]
    done = await client.execute(reply, decisions={first.id: Decision(True, response="It is Bob.")})
    assert [(call.status, call.result) for call in done.tool_calls] == [
        ("ok", "It is Bob."),
        ("awaiting_approval", None),
    ]


async def test_the_prompt_does_not_grow_without_bound() -> None:
    client, model = client_for(*["ok"] * 3)
    history = [Message("user" if n % 2 == 0 else "assistant", "word " * 8_000) for n in range(40)]
    await client.call("And?", history=history)
    assert sum(len(message.content) for message in model.requests[0].messages) < 100_000 * 4


class Shop(BaseModel):
    number: int
    currency: str = "EUR"


@tool(config=Shop)
def show_shop(context: ToolContext) -> str:
    """Show the shop's settings."""
    return repr(context.config)


async def test_settings_of_tools_are_checked_before_anything_runs() -> None:
    show = ToolCall("", "show_shop", "{}")
    client, _ = client_for(show, "ok", tools=[show_shop], configs={"show_shop": {"number": 5}})
    assert (await client.call("Show")).tool_calls[0].result == "Shop(number=5, currency='EUR')"
    with pytest.raises(InvalidTool, match="'show_shop' are not valid: number: Field required"):
        client_for(tools=[show_shop])
    client, model = client_for("ok")
    with pytest.raises(InvalidTool, match="show_shop"):
        await client.call("Show", tools=[show_shop])
    assert model.requests == []


async def test_an_approved_call_has_the_same_key_whenever_its_history_is_sent() -> None:
    keys: list[str] = []

    @tool(requires_approval=True)
    def pay(amount: int, context: ToolContext) -> str:
        """Pay."""
        keys.append(context.idempotency_key)
        return "paid"

    client, _ = client_for(*[ToolCall("c", "pay", '{"amount":5}')] * 2, "ok", "ok", "ok", tools=[pay])
    one, two = await client.call("Pay"), await client.call("Pay")
    for waiting in (one, one, two):
        await client.call(history=waiting.messages, decisions={"c": Decision(True)})
    first, again, other = keys
    assert first == again != other


async def test_a_tool_does_not_change_the_clients_context() -> None:
    seen: list[Any] = []
    shared = object()

    @tool
    def change(context: ToolContext) -> str:
        """Change the context."""
        seen.append(repr(context.extra["b"]))
        context.extra["b"]["q"] = 1
        context.extra["b"]["objects"].append(2)
        return "changed"

    turns = [ToolCall("", "change", "{}"), "ok"]
    client, _ = client_for(*turns, *turns, tools=[change], context={"b": {"objects": [shared]}})
    await client.call("Change")
    await client.call("Change")
    assert seen == [repr({"objects": [shared]})] * 2


async def test_the_prompt_can_be_bounded_by_the_number_of_messages() -> None:
    turns = [CUSTOMER, "Bob."]
    client, model = client_for(*turns, *turns, tools=[get_customer], system="Be brief.", history_messages=4)
    first = await client.call("Who is customer 42?")
    await client.call("And again?", history=first.messages)
    assert [[m.role for m in request.messages] for request in model.requests] == [
        ["system", "user"],
        ["system", "user", "assistant", "tool"],
        ["system", "user"],
        ["system", "user", "assistant", "tool"],
    ]
    whole = await client_for("ok", history_messages=5)[0].call("Hi", history=first.messages)
    assert len(whole.messages) == 6


def test_two_tools_with_the_same_name_are_refused() -> None:
    with pytest.raises(InvalidTool, match="two tools"):
        ChatClient(model=ScriptedModel([]), tools=[get_customer, get_customer])


async def test_files_are_sent_with_the_message_and_mark_it() -> None:
    client, model = client_for("Thirty days.")
    notes, dot = Media(b"Umbrellas: 30 days.", "text/plain", name="returns.txt"), Media(PIXEL, "image/png", name="dot")
    await client.call("How long?", files=[notes, dot])
    (sent,) = model.requests[0].messages
    assert sent.content.endswith("How long?") and "Umbrellas: 30 days." in sent.content
    assert (sent.media, sent.sources) == ((dot,), ("returns.txt", "dot.png"))


async def test_a_file_that_is_neither_image_nor_text_is_refused() -> None:
    client, _ = client_for("ok")
    with pytest.raises(ValueError, match=r"a\.wav is neither an image nor text"):
        await client.call("Read", files=[Media(b"RIFF", "audio/wav", name="a.wav")])


def test_a_call_without_an_event_loop() -> None:
    client, _ = client_for("Hello you", "And again")
    assert (client.call_sync("Hi").text, client.call_sync("Hi").text) == ("Hello you", "And again")


async def test_a_call_without_an_event_loop_is_refused_within_one() -> None:
    client, _ = client_for("Hello you")
    with pytest.raises(RuntimeError, match="await `call` instead"):
        client.call_sync("Hi")


async def test_only_the_text_of_the_answer_is_streamed() -> None:
    client, _ = client_for(CUSTOMER, "Bob it is.", tools=[get_customer], context={"tenant_id": "acme"})
    texts = [text async for text in client.stream_text("Who?")]
    assert "".join(texts) == "Bob it is." and len(texts) > 1


async def test_a_stream_of_text_raises_what_failed() -> None:
    client, _ = client_for(ModelError("Down."))
    with pytest.raises(RunFailed, match="Down"):
        _ = [text async for text in client.stream_text("Who?")]


async def test_a_required_call_is_required_once() -> None:
    client, model = client_for(CUSTOMER, "Bob.", tools=[get_customer])
    await client.call("Who?", tool_choice="required")
    assert [request.tool_choice for request in model.requests] == ["required", None]


async def test_the_clients_context_is_not_changed_by_a_tool() -> None:
    @tool
    def change(context: ToolContext) -> str:
        """Change."""
        context.extra["list"].append(1)
        return "changed"

    given = {"list": [0]}
    client, _ = client_for(ToolCall("", "change", "{}"), "ok", tools=[change], context=given)
    reply = await client.call("Change")
    assert given == {"list": [0]} and reply.tool_calls[0].status == "error"

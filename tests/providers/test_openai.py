"""`OpenAIModel` without failures: its requests, its replies, and what it does not log."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from typing import Any

import httpx2
import openai
import pytest
from pydantic import BaseModel

from assistant.client.spans.recording import provider_of
from assistant.core.extensions.interceptors import InterceptedModel
from assistant.core.llm.protocol import ModelError, ModelRequest, TextDelta, ToolCallDelta
from assistant.core.llm.typed_output import OutputType
from assistant.core.values.messages import Message, Reply, ToolCall, Usage
from assistant.providers.openai import OpenAIModel
from assistant.toolkit import Example, Tool
from assistant.toolkit.logs import Request, begin_request, end_request
from tests.fake_answers import chunk
from tests.fake_provider import FakeProvider
from tests.providers.asking import ask, model, offered
from tests.providers.quirks import end, say, sse

SECRET = "sk-a-secret-key"


async def sent(provider: FakeProvider, request: ModelRequest, **options: Any) -> Any:
    """Return the JSON that the provider gets for this request."""
    async for _ in model(provider, **options).stream(request):
        pass
    return provider.requests[-1].json


async def test_deltas_arrive_while_the_provider_still_sends(fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    stream = model(fake_provider).stream(ModelRequest([Message("user", "Hi")]))
    assert await anext(stream) == TextDelta("Hel")
    assert not gate.opened.is_set()
    gate.release()
    assert await anext(stream) == TextDelta("lo")
    await stream.aclose()


async def test_deltas_that_arrive_together_are_joined(fake_provider: FakeProvider) -> None:
    fake_provider.raw(sse(*map(say, "Hello"), end()))
    deltas, _ = await ask(fake_provider)
    assert deltas == [TextDelta("Hello")]


async def test_a_call_comes_as_deltas_and_in_the_reply(fake_provider: FakeProvider) -> None:
    fake_provider.call("get_customer", {"customer_id": 42}, ids=["call_7"])
    deltas, reply = await ask(fake_provider)
    assert isinstance(deltas[0], ToolCallDelta) and (deltas[0].id, deltas[0].name) == ("call_7", "get_customer")
    assert isinstance(reply, Reply)
    assert reply.tool_calls == (ToolCall("call_7", "get_customer", '{"customer_id": 42}'),)


async def test_tokens_are_counted_as_the_provider_counts_them(fake_provider: FakeProvider) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, **details}
    fake_provider.stream(say("Hi"), end(), chunk(choices=[], usage=usage))
    _, reply = await ask(fake_provider)
    assert isinstance(reply, Reply)
    assert reply.usage == Usage(input_tokens=10, output_tokens=5, cached_input_tokens=4, reasoning_tokens=2)
    assert reply.model == "fake"


async def test_the_request_contains_the_options(fake_provider: FakeProvider) -> None:
    (tool,) = offered("get_time")
    request = ModelRequest([Message("user", "Hi")], [tool], {"temperature": 0.5}, "required", {"type": "json_object"})
    body = await sent(fake_provider, request)
    function = {"name": "get_time", "description": "For tests.", "parameters": tool.parameters}
    assert body == {
        "model": "fake",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "required",
        "response_format": {"type": "json_object"},
        "temperature": 0.5,
    }


async def test_a_tool_can_be_chosen_by_its_name(fake_provider: FakeProvider) -> None:
    request = ModelRequest([Message("user", "Hi")], offered("get_time"), tool_choice="get_time")
    body = await sent(fake_provider, request)
    assert body["tool_choice"] == {"type": "function", "function": {"name": "get_time"}}


async def test_strict_schemas_are_requested_where_possible(fake_provider: FakeProvider) -> None:
    def look_up(city: str, days: int = 3) -> str:
        """Look the weather up."""
        return f"{city} {days}"

    def remember(facts: dict[str, str]) -> None:
        """Remember facts."""

    tools = [Tool.from_function(look_up), Tool.from_function(remember)]
    request = ModelRequest([Message("user", "Hi")], tools)
    first, second = [tool["function"] for tool in (await sent(fake_provider, request, strict=True))["tools"]]
    assert (first["strict"], first["parameters"]["required"]) == (True, ["city", "days"])
    assert "strict" not in second
    assert "strict" not in str(await sent(fake_provider, request))


async def test_strict_typed_answers_are_requested_where_possible(fake_provider: FakeProvider) -> None:
    class Inner(BaseModel):
        note: str | None = None

    class Outer(BaseModel):
        title: str
        words: int = 3
        inner: list[Inner] = []

    def asking(output: Any) -> ModelRequest:
        return ModelRequest([Message("user", "Hi")], response_format=OutputType(output).response_format())

    wanted = (await sent(fake_provider, asking(Outer), strict=True))["response_format"]["json_schema"]
    outer, inner = wanted["schema"], wanted["schema"]["$defs"]["Inner"]
    assert (wanted["strict"], outer["required"]) == (True, ["title", "words", "inner"])
    assert outer["additionalProperties"] is inner["additionalProperties"] is False
    answer = '{"title": "Owls", "words": null, "inner": [{"note": null}]}'
    assert OutputType(Outer).parse(answer) == Outer(title="Owls", inner=[Inner()])
    assert "strict" not in str(await sent(fake_provider, asking(Outer)))
    assert "strict" not in str(await sent(fake_provider, asking(dict[str, int]), strict=True))


async def test_names_and_ids_that_providers_refuse_are_not_sent_back(fake_provider: FakeProvider) -> None:
    call_id = "x" * 60
    call = ToolCall(call_id, "functions.get time", "{}")
    history = [
        Message("user", "Hi"),
        Message("assistant", tool_calls=(call,)),
        Message("tool", "no such tool", tool_call_id=call_id),
    ]
    _, asked, answered = (await sent(fake_provider, ModelRequest(history)))["messages"]
    assert asked["tool_calls"][0]["function"]["name"] == "functions_get_time"
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert len(answered["tool_call_id"]) <= 40


async def test_a_lone_surrogate_in_the_history_does_not_stop_the_request(fake_provider: FakeProvider) -> None:
    body = await sent(fake_provider, ModelRequest([Message("user", "a\ud83d")]))
    assert body["messages"] == [{"role": "user", "content": "a?"}]


async def test_an_id_that_an_earlier_call_has_is_replaced(fake_provider: FakeProvider) -> None:
    history = [
        Message("user", "Hi"),
        Message("assistant", tool_calls=(ToolCall("call_0", "get_time", "{}"),)),
        Message("tool", "12:00", tool_call_id="call_0"),
    ]
    fake_provider.call("get_time", {}, ids=["call_0"])
    reply = [item async for item in model(fake_provider).stream(ModelRequest(history, offered("get_time")))][-1]
    assert isinstance(reply, Reply)
    assert reply.tool_calls[0].id != "call_0"


async def test_mistral_has_another_name_for_seeds_wherever_they_are_set(fake_provider: FakeProvider) -> None:
    asked = ModelRequest([Message("user", "Hi")], options={"seed": 7})
    assert (await sent(fake_provider, asked, kind="mistral"))["random_seed"] == 7
    plain = ModelRequest([Message("user", "Hi")])
    body = await sent(fake_provider, plain, kind="mistral", extra_body={"seed": 8})
    assert (body["random_seed"], "seed" in body) == (8, False)


async def test_small_models_see_worked_examples(fake_provider: FakeProvider) -> None:
    example = Example("What time is it in Nowhere?", {}, "It is 99:99 in Nowhere.")
    (plain,) = offered("get_time")
    tool = plain.replace(examples=[example])
    request = ModelRequest([Message("system", "Be kind."), Message("user", "What time is it?")], [tool])
    first, *examples, last = (await sent(fake_provider, request, small=True))["messages"]
    assert (first["content"], last["content"]) == ("Be kind.", "What time is it?")
    calls = [call["function"] for message in examples for call in message.get("tool_calls", ())]
    assert calls == [{"name": "get_time", "arguments": "{}"}]
    assert len((await sent(fake_provider, request))["messages"]) == 2


async def test_the_environment_gives_the_defaults(fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", fake_provider.url)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_MODEL", "from-the-environment")
    async for _ in OpenAIModel().stream(ModelRequest([Message("user", "Hi")])):
        pass
    assert fake_provider.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    assert fake_provider.requests[0].json["model"] == "from-the-environment"


async def test_a_server_without_a_key_does_not_get_the_environments(
    fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, SECRET)
    await ask(fake_provider, api_key="")
    assert SECRET not in str(fake_provider.requests[0].headers)


async def test_neither_prompt_nor_key_is_logged(fake_provider: FakeProvider, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    fake_provider.respond(400, {"error": {"message": f"{SECRET}: my prompt is bad", "code": "bad"}})
    await ask(fake_provider, "my prompt", api_key=SECRET)
    fake_provider.stream({"error": {"message": "my prompt is bad"}})
    await ask(fake_provider, "my prompt", api_key=SECRET)
    assert "status 400" in caplog.text
    assert "my prompt" not in caplog.text
    assert SECRET not in caplog.text


async def test_every_request_has_the_packages_headers_except_telemetry(
    fake_provider: FakeProvider,
) -> None:
    async with openai.DefaultAioHttpClient() as http_client:
        plain = openai.AsyncOpenAI(base_url=fake_provider.url, api_key=SECRET, timeout=60.0, http_client=http_client)
        await plain.post("/chat/completions", content=b"{}", cast_to=httpx2.Response)
    sent = fake_provider.requests[-1].headers
    about_this_machine = {name for name in sent if name.startswith("x-stainless-")}
    assert "x-stainless-os" in about_this_machine
    written = {name: value for name, value in sent.items() if name not in about_this_machine}
    for text in ("Hi", "A longer question", "½"):
        token = begin_request(Request(f"request-{len(text)}"))
        await ask(fake_provider, text, api_key=SECRET)
        end_request(token)
        last = fake_provider.requests[-1]
        assert last.json["messages"][-1]["content"] == text
        own = {"content-length": str(len(last.body)), "x-client-request-id": f"request-{len(text)}"}
        assert last.headers == {**written, **own, "user-agent": last.headers["user-agent"]}
    fake_provider.respond(500, {}, headers={"retry-after-ms": "1"})
    await ask(fake_provider, "Hi", api_key=SECRET, max_retries=1)
    first, again = (request.headers for request in fake_provider.requests[-2:])
    assert first == again
    assert "x-client-request-id" not in again


async def test_turns_share_one_connection(fake_provider: FakeProvider) -> None:
    for _ in range(5):
        await ask(fake_provider)
    assert fake_provider.connections == 1


async def test_each_key_has_a_connection_of_its_own(fake_provider: FakeProvider) -> None:
    await ask(fake_provider, api_key="a")
    await ask(fake_provider, api_key="b")
    assert fake_provider.connections == 2


async def test_a_client_that_was_given_is_used_and_left_open(fake_provider: FakeProvider) -> None:
    async with httpx2.AsyncClient(headers={"x-team": "blue"}) as client:
        await ask(fake_provider, http_client=client)
        assert not client.is_closed
    assert fake_provider.requests[0].headers["x-team"] == "blue"


def test_connections_are_closed_with_their_event_loop(
    fake_provider: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        asyncio.run(ask(fake_provider))
    gc.collect()
    assert "Unclosed" not in caplog.text
    assert fake_provider.connections == 2


def test_event_loops_in_threads_do_not_share_clients(fake_provider: FakeProvider) -> None:
    replies: list[object] = []
    threads = [threading.Thread(target=lambda: replies.append(asyncio.run(ask(fake_provider))[1])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [isinstance(reply, Reply) for reply in replies] == [True] * 4


async def test_without_a_key_openai_is_not_asked_and_the_variable_is_named() -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        async for _ in OpenAIModel("m", base_url="", api_key="").stream(ModelRequest([Message("user", "hi")])):
            pass


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://shop.openai.azure.com/openai/v1", "azure.ai.openai"),
        ("https://api.mistral.ai/v1", "mistral_ai"),
        ("https://api.x.ai/v1", "x_ai"),
        ("https://notx.ai/v1", "openai"),
        ("http://127.0.0.1:8000/v1", "openai"),
    ],
)
def test_telemetry_uses_opentelemetrys_provider_names(address: str, name: str) -> None:
    model = OpenAIModel("m", base_url=address, provider="Our own server")
    assert provider_of(model) == provider_of(InterceptedModel(model, [])) == name

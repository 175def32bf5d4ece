"""`ChatClient` with servers that fail before an answer: what is asked again, and what the caller reads."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assistant.client import ChatClient, ChatReply, RunFailed
from assistant.core.llm.protocol import FailureDetails, ModelError, ModelRequest, usage_of_partial
from assistant.core.turn.model_requests import (
    CIRCUITS,
    COOLDOWN_SECONDS,
    MAX_CIRCUITS,
    MAX_FAILURES,
    MAX_REPEATS,
    REPAIR_ANSWER,
    REPAIR_CALL,
    Circuits,
)
from assistant.core.values.messages import Message, ToolCall
from assistant.providers import OpenAIModel, ScriptedModel
from assistant.providers.failure_masking import MAX_MESSAGE, masked
from assistant.providers.openai_wire.overflow_sentences import is_overflow
from assistant.toolkit import Media, tool
from tests import fake_answers
from tests.fake_provider import FakeProvider
from tests.providers.quirks import IMAGE

KEY = "sk-canary-0123456789abcdef"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
OVERFLOW = "This model's maximum context length is 400 tokens. However, your messages resulted in 900 tokens."


@tool
def get_time(city: str) -> str:
    """Tell the time."""
    return f"Noon in {city}"


def client_of(provider: FakeProvider, **settings: Any) -> ChatClient:
    model = OpenAIModel("fake", base_url=provider.url, api_key=KEY, max_retries=0, timeout=5)
    return ChatClient(model=model, **{"tools": [get_time], "system": "Be kind.", **settings})


def error(message: str = "", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def check_valid(provider: FakeProvider) -> None:
    """Check that every request is one that a picky server takes: calls with results, no empty messages."""
    for request in provider.requests:
        waiting: set[str] = set()
        for message in request.messages:
            if message["role"] == "tool":
                waiting.remove(message["tool_call_id"])
                continue
            assert not waiting
            assert message.get("tool_calls") or str(message["content"]).strip()
            waiting = {call["id"] for call in message.get("tool_calls", ())}
        assert not waiting
        assert request.messages[-1]["role"] in {"user", "tool"}


async def go_on(provider: FakeProvider, client: ChatClient, reply: ChatReply[Any]) -> None:
    """Ask two more turns of the conversation, and check every request so far."""
    for text in ("And then?", "And then again?"):
        provider.reply("So it is.")
        reply = await client.call(text, history=reply.messages)
        assert reply.text == "So it is."
    assert "canary" not in json.dumps([request.json for request in provider.requests])
    check_valid(provider)


async def test_an_empty_answer_is_asked_once_more_and_counted(fake_provider: FakeProvider) -> None:
    client = client_of(fake_provider)
    fake_provider.call("get_time", {"city": "Rome"})
    fake_provider.reply("", usage={"prompt_tokens": 100, "completion_tokens": 0})
    fake_provider.reply("It is noon.")
    reply = await client.call("What time is it?")
    assert (reply.text, len(fake_provider.requests)) == ("It is noon.", 3)
    assert fake_provider.requests[1].json == fake_provider.requests[2].json
    assert reply.usage.input_tokens >= 100
    await go_on(fake_provider, client, reply)


@pytest.mark.parametrize("first", [{"reasoning": ["I think."]}, {"chunks": [" ", "\n"]}])
async def test_an_answer_of_reasoning_or_white_space_is_empty_too(
    fake_provider: FakeProvider, first: dict[str, Any]
) -> None:
    client = client_of(fake_provider)
    fake_provider.reply(**first)
    fake_provider.reply("Hello.")
    reply = await client.call("Hi")
    assert reply.text == "Hello."
    await go_on(fake_provider, client, reply)


async def test_a_second_empty_answer_is_the_failure(fake_provider: FakeProvider) -> None:
    fake_provider.reply("")
    fake_provider.reply("")
    with pytest.raises(RunFailed, match="empty answer") as failed:
        await client_of(fake_provider).call("Hi")
    assert (len(fake_provider.requests), failed.value.code) == (2, "provider_error")
    fake_provider.reply("Hello.")
    reply = await client_of(fake_provider).call("Again", history=failed.value.reply.messages)
    await go_on(fake_provider, client_of(fake_provider), reply)


async def test_an_image_alone_is_not_asked_again(fake_provider: FakeProvider) -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1290}}
    fake_provider.stream(fake_answers.chunk({"images": [IMAGE]}), fake_answers.chunk(finish="stop"), usage)
    with pytest.raises(RunFailed, match="an image or sound alone") as failed:
        await client_of(fake_provider).call("Draw an owl")
    assert (len(fake_provider.requests), failed.value.code) == (1, "provider_error")
    assert failed.value.reply.usage.output_tokens == 1290
    fake_provider.reply("Hello.")
    reply = await client_of(fake_provider).call("Again", history=failed.value.reply.messages)
    await go_on(fake_provider, client_of(fake_provider), reply)


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [error("overloaded", code=503), error("Overloaded", type="overloaded_error"), {"error": "worker died"}],
)
async def test_an_error_as_first_event_is_repeated_as_a_503(fake_provider: FakeProvider, first: Any) -> None:
    client = client_of(fake_provider)
    fake_provider.stream(first)
    fake_provider.reply("Hello.")
    reply = await client.call("Hi")
    assert (reply.text, len(fake_provider.requests)) == ("Hello.", 2)
    await go_on(fake_provider, client, reply)


@pytest.mark.slow
async def test_it_is_repeated_a_few_times_only(fake_provider: FakeProvider) -> None:
    fake_provider.rule(lambda request: fake_answers.stream(error("x", code=503)))
    with pytest.raises(RunFailed):
        await client_of(fake_provider).call("Hi")
    assert len(fake_provider.requests) == 1 + MAX_REPEATS


@pytest.mark.parametrize("refused", [error("no", code="invalid_request"), error("bad key", code="invalid_api_key")])
async def test_an_error_that_would_return_is_not_repeated(fake_provider: FakeProvider, refused: Any) -> None:
    refused["error"]["status"] = 400
    fake_provider.stream(refused)
    with pytest.raises(RunFailed):
        await client_of(fake_provider).call("Hi")
    assert len(fake_provider.requests) == 1


async def test_an_error_after_text_was_shown_is_the_failure(fake_provider: FakeProvider) -> None:
    fake_provider.stream({"choices": [{"delta": {"content": "Hel"}}]}, error("overloaded", code=503))
    with pytest.raises(RunFailed) as failed:
        await client_of(fake_provider).call("Hi")
    assert (len(fake_provider.requests), failed.value.reply.text) == (1, "Hel")


async def test_a_call_that_the_provider_cannot_read_goes_back_to_the_model(fake_provider: FakeProvider) -> None:
    client = client_of(fake_provider)
    wrote = '<function=get_time{"city": "Rome">'
    fake_provider.respond(400, error("Failed to call a function.", code="tool_use_failed", failed_generation=wrote))
    fake_provider.stream(error("Failed to call a function.", code="tool_use_failed", status_code=400))
    fake_provider.call("get_time", {"city": "Rome"})
    fake_provider.reply("Noon.")
    reply = await client.call("What time is it?")
    assert (reply.text, [call.result for call in reply.tool_calls]) == ("Noon.", ["Noon in Rome"])
    assert [m["content"] for m in fake_provider.requests[1].messages[-2:]] == [wrote, REPAIR_CALL]
    assert fake_provider.requests[2].messages[-1]["content"] == REPAIR_CALL
    assert REPAIR_CALL not in json.dumps([message.content for message in reply.messages])
    await go_on(fake_provider, client, reply)


@pytest.mark.parametrize("code", ["tool_use_failed", "output_parse_failed"])
async def test_a_call_that_cannot_be_read_after_reasoning_goes_back_too(fake_provider: FakeProvider, code: str) -> None:
    failed = error("Failed to call a function.", code=code, failed_generation='{"city": Rome}', status_code=400)
    fake_provider.stream(fake_answers.chunk({"reasoning": "I look."}), failed)
    fake_provider.reply("Noon.")
    stream = client_of(fake_provider).stream("What time is it?")
    assert [event.type async for event in stream][-1] == "RUN_FINISHED"
    assert [m["content"] for m in fake_provider.requests[1].messages[-2:]] == ['{"city": Rome}', REPAIR_CALL]


async def test_a_call_that_cannot_be_read_after_words_goes_back_too(fake_provider: FakeProvider) -> None:
    client = client_of(fake_provider)
    wrote = 'I look.<function=get_time{"city": "Rome">'
    failed = error("Failed to call a function.", code="tool_use_failed", failed_generation=wrote, status_code=400)
    fake_provider.stream(fake_answers.chunk({"content": "I look."}), failed)
    fake_provider.call("get_time", {"city": "Rome"})
    fake_provider.reply("Noon.")
    stream = client.stream("What time is it?")
    told = [event async for event in stream]
    assert told[-1].type == "RUN_FINISHED" and stream.reply.text == "Noon."
    (cut,) = [event.value for event in told if event.type == "CUSTOM" and event.name == "message.cut"]
    (first,) = {event.message_id for event in told if event.type == "TEXT_MESSAGE_CONTENT" and event.delta == "I look."}
    assert cut == {"messageId": first, "reason": "superseded"}
    assert [m["content"] for m in fake_provider.requests[1].messages[2:]] == [wrote, REPAIR_CALL]
    assert [m["role"] for m in fake_provider.requests[2].messages[1:]] == ["user", "assistant", "tool"]
    await go_on(fake_provider, client, stream.reply)


async def test_a_call_that_cannot_be_read_after_another_call_is_the_failure(fake_provider: FakeProvider) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "get_time", "arguments": '{"city": "Rome"}'}}
    failed = error("Failed to call a function.", code="tool_use_failed", status_code=400)
    fake_provider.stream(fake_answers.chunk({"tool_calls": [call]}), failed)
    with pytest.raises(RunFailed):
        await client_of(fake_provider).call("What time is it?")


async def test_a_gateway_that_repeats_groqs_code_in_its_sentence_is_understood(fake_provider: FakeProvider) -> None:
    inner = json.dumps({"error": {"message": "Failed to call a function.", "code": "tool_use_failed"}})
    fake_provider.respond(400, error(f"litellm.BadRequestError: GroqException - {inner}", code="400"))
    fake_provider.reply("Noon.")
    assert (await client_of(fake_provider).call("What time is it?")).text == "Noon."


@pytest.mark.parametrize(
    ("sentence", "wrote"),
    [
        ("error parsing tool call: raw='{\"city\": Rome}', err=invalid character 'R'", '{"city": Rome}'),  # Ollama
        ("Failed to parse tool call arguments as JSON: [json.exception.parse_error.101]", ""),  # llama.cpp
    ],
)
async def test_a_call_that_a_server_could_not_read_is_known_by_its_sentence(
    fake_provider: FakeProvider, sentence: str, wrote: str
) -> None:
    client = client_of(fake_provider)
    fake_provider.respond(500, error(sentence))
    fake_provider.call("get_time", {"city": "Rome"})
    fake_provider.reply("Noon.")
    reply = await client.call("What time is it?")
    assert reply.text == "Noon."
    assert [m["content"] for m in fake_provider.requests[1].messages[2:]] == [*filter(None, [wrote]), REPAIR_CALL]
    await go_on(fake_provider, client, reply)


@dataclass
class Trip:
    city: str


UNREAD_ANSWER: dict[str, Any] = {
    "message": "Failed to validate JSON. Please adjust your prompt. See 'failed_generation' for more details.",
    "code": "json_validate_failed",
    "failed_generation": '{"city": Rome}',
}
BY_GATEWAY = f"litellm.BadRequestError: GroqException - {json.dumps({'error': UNREAD_ANSWER})}"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_typed_answer_that_the_provider_cannot_read_goes_back(
    fake_provider: FakeProvider, streamed: bool
) -> None:
    client = client_of(fake_provider)
    if streamed:
        pieces = fake_answers.chunk({"content": '{"ci'})
        fake_provider.stream(pieces, {"error": {**UNREAD_ANSWER, "status_code": 400}})
    else:
        fake_provider.respond(400, {"error": UNREAD_ANSWER})
    fake_provider.reply('{"city": "Rome"}')
    reply = await client.call("Where to?", output_type=Trip)
    assert reply.output == Trip("Rome")
    assert [m["content"] for m in fake_provider.requests[1].messages[2:]] == ['{"city": Rome}', REPAIR_ANSWER]
    assert "response_format" in fake_provider.requests[1].json
    await go_on(fake_provider, client, reply)


async def test_a_typed_answer_may_be_mended_twice_behind_a_gateway_too(fake_provider: FakeProvider) -> None:
    for _ in range(3):
        fake_provider.respond(400, error(BY_GATEWAY, code="400"))
    with pytest.raises(RunFailed):
        await client_of(fake_provider).call("Where to?", output_type=Trip)
    assert len(fake_provider.requests) == 3


async def test_an_error_in_a_list_is_read(fake_provider: FakeProvider) -> None:
    said = {"code": 400, "message": "Invalid value at 'tools'.", "status": "INVALID_ARGUMENT"}
    fake_provider.respond(400, [{"error": said}])
    with pytest.raises(RunFailed) as failed:
        await client_of(fake_provider).call("Hi")
    details = failed.value.details
    assert details is not None and (details.message, details.code) == (said["message"], "400, INVALID_ARGUMENT")


async def test_a_stream_that_says_the_request_is_invalid_is_not_repeated(fake_provider: FakeProvider) -> None:
    fake_provider.stream(error("Bad image.", type="invalid_request_error"))
    with pytest.raises(RunFailed):
        await client_of(fake_provider).call("Hi")
    assert len(fake_provider.requests) == 1


async def test_the_model_may_mend_its_calls_twice(fake_provider: FakeProvider) -> None:
    for _ in range(3):
        fake_provider.respond(400, error("Failed to call a function.", code="tool_use_failed"))
    with pytest.raises(RunFailed):
        await client_of(fake_provider).call("What time is it?")
    assert len(fake_provider.requests) == 3


async def test_a_conversation_that_is_too_long_is_trimmed_harder_and_asked_again(fake_provider: FakeProvider) -> None:
    client = client_of(fake_provider)
    history: list[Any] = [
        {"role": role, "content": f"{role} {place} " + "words " * 40}
        for place in range(20)
        for role in ("user", "assistant")
    ]
    fake_provider.respond(400, error(OVERFLOW))
    fake_provider.reply("In short, yes.")
    reply = await client.call("Well?", history=history)
    first, second = (len(request.messages) for request in fake_provider.requests)
    assert (reply.text, first) == ("In short, yes.", 42)
    assert 5 < second < 25
    assert fake_provider.requests[1].messages[-1]["content"] == "Well?"
    await go_on(fake_provider, client, reply)


ABOVE_RATE = (
    "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 300, Requested 460. The input "
    "or output tokens must be reduced in order to run successfully."
)


async def test_a_request_above_the_tokens_a_minute_is_trimmed_or_goes_to_the_fallback(
    fake_provider: FakeProvider,
) -> None:
    history = [Message("user" if place % 2 == 0 else "assistant", "words " * 50) for place in range(20)]
    above = 429, error(ABOVE_RATE, type="tokens", code="rate_limit_exceeded")
    fake_provider.respond(*above)
    fake_provider.reply("In short, yes.")
    reply = await client_of(fake_provider).call("Well?", history=history)
    assert reply.text == "In short, yes."
    assert len(fake_provider.requests[1].messages) < 16
    await go_on(fake_provider, client_of(fake_provider), reply)
    fake_provider.respond(*above)
    client = client_of(fake_provider, fallback=ScriptedModel("Yes.", name="second"))
    assert (await client.call("Well?", history=history)).text == "Yes."


UNTAKEN = [
    (400, "You uploaded an unsupported image. Please make sure your image is valid."),  # OpenAI
    (400, "messages.2.content.1.image.source.base64: image exceeds 5 MB maximum: 5768568 bytes > 5242880 bytes"),
    (400, "Unable to process input image. Please retry or report in https://ai.google.dev"),
    (404, "No endpoints found that support image input"),  # OpenRouter
    (400, "google/gemma-3-1b-it is not a multimodal model"),  # vLLM
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    (400, "'messages.1' : for 'role:user' the following must be satisfied[('messages.1.content' : value must be a "
          "string)]"),  # Groq
    (422, "Failed to deserialize the JSON body: messages[1]: unknown variant `image_url`, expected `text`"),
    (400, "The PDF specified was not valid."),
]  # fmt: skip


@pytest.mark.parametrize(("status", "said"), UNTAKEN, ids=[said[:40] for _, said in UNTAKEN])
async def test_a_file_that_the_provider_refuses_is_left_out(
    fake_provider: FakeProvider, status: int, said: str
) -> None:
    def picky(request: fake_answers.Recorded) -> fake_answers.Answer:
        has_file = any(isinstance(message["content"], list) for message in request.messages)
        refused, answered = fake_answers.respond(status, error(said)), fake_answers.reply("I cannot see it.")
        return refused if has_file else answered(request)

    fake_provider.rule(picky)
    model = OpenAIModel(
        "fake", base_url=fake_provider.url, api_key=KEY, max_retries=0, sees_images=True, reads_pdfs=True
    )
    client = ChatClient(model=model)
    files = [Media(PNG, "image/png", name="owl.png"), Media(b"%PDF-1.4", "application/pdf", "a.pdf", "Of owls.")]
    reply = await client.call("What is this?", files=files)
    assert (reply.text, len(fake_provider.requests)) == ("I cannot see it.", 2)
    asked = fake_provider.requests[1].messages[-1]["content"]
    assert asked == "Of owls.\n\nWhat is this?\n\n[Images that are not shown: 1]"
    for text in ("And then?", "And then again?"):
        reply = await client.call(text, history=reply.messages)
        assert reply.text == "I cannot see it."
    check_valid(fake_provider)


async def test_a_refusal_about_files_is_the_failure_if_there_are_none(fake_provider: FakeProvider) -> None:
    fake_provider.respond(*((UNTAKEN[0][0], error(UNTAKEN[0][1]))))
    with pytest.raises(RunFailed, match="did not accept"):
        await client_of(fake_provider).call("Hi")
    assert len(fake_provider.requests) == 1


async def test_a_message_that_is_too_long_by_itself_is_not_asked_again(fake_provider: FakeProvider) -> None:
    fake_provider.respond(400, error(OVERFLOW))
    with pytest.raises(RunFailed, match="too long"):
        await client_of(fake_provider).call("words " * 400)
    assert len(fake_provider.requests) == 1


async def test_a_fallback_takes_over_and_stays_for_the_turn(fake_provider: FakeProvider) -> None:
    second = ScriptedModel(["Hello.", "So it is.", "So it is."], name="second")
    client = client_of(fake_provider, fallback=second)
    fake_provider.respond(503, error("overloaded"))
    stream = client.stream("Hi")
    events = [event async for event in stream]
    (told,) = [event.value for event in events if event.type == "CUSTOM"]
    assert told == {"provider": "scripted", "model": "second", "replaces": "fake", "reason": "down"}
    assert stream.reply.text == "Hello."
    await go_on(fake_provider, client, stream.reply)


@pytest.mark.parametrize("status", [429, 500, 503, 504])
async def test_busy_and_failing_providers_are_replaced(fake_provider: FakeProvider, status: int) -> None:
    client = client_of(fake_provider, fallback=[ScriptedModel([ModelError("Down.", kind="down")]), ScriptedModel("Hi")])
    fake_provider.respond(status, error("no"))
    assert (await client.call("Hi")).text == "Hi"


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_what_an_operator_must_mend_is_not_hidden_by_a_fallback(fake_provider: FakeProvider, status: int) -> None:
    fake_provider.respond(status, error("no"))
    second = ScriptedModel("Hello.")
    with pytest.raises(RunFailed):
        await client_of(fake_provider, fallback=second).call("Hi")
    assert second.requests == []


async def test_a_fallback_does_not_take_over_once_something_was_shown(fake_provider: FakeProvider) -> None:
    fake_provider.stream({"choices": [{"delta": {"content": "Hel"}}]}, done=False)
    second = ScriptedModel("Hello.")
    with pytest.raises(RunFailed):
        await client_of(fake_provider, fallback=second).call("Hi")
    assert second.requests == []


async def test_a_provider_that_keeps_failing_is_not_asked_for_a_while(fake_provider: FakeProvider) -> None:
    client = client_of(fake_provider, fallback=ScriptedModel(["Hello."] * 9))
    for _ in range(MAX_FAILURES):
        fake_provider.respond(503, error("no"))
    for _ in range(MAX_FAILURES + 2):
        await client.call("Hi")
    assert len(fake_provider.requests) == MAX_FAILURES
    fake_provider.reply("Without a fallback it is asked.")
    assert (await client_of(fake_provider).call("Hi")).text == "Without a fallback it is asked."
    assert not CIRCUITS.is_open(client.model)


def test_a_circuit_is_tried_once_after_its_cooldown_and_forgotten_in_time() -> None:
    now = 0.0
    circuits = Circuits(lambda: now)
    model = ScriptedModel("x")
    for _ in range(MAX_FAILURES):
        assert not circuits.is_open(model)
        circuits.failed(model)
    assert circuits.is_open(model)
    now = COOLDOWN_SECONDS
    assert [circuits.is_open(model), circuits.is_open(model)] == [False, True]
    for number in range(MAX_CIRCUITS):
        circuits.failed(ScriptedModel("x", name=f"m{number}"))
    assert not circuits.is_open(model)


async def test_the_providers_reason_is_for_the_caller_and_the_log(
    fake_provider: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    said = f"Unknown field 'top_q' with key {KEY} in: My card is 4111 1111 1111 1111"
    fake_provider.respond(400, error(said, code="unknown_field"), headers={"x-request-id": "req_77"})
    with caplog.at_level(logging.WARNING), pytest.raises(RunFailed) as failed:
        await client_of(fake_provider).call("Please: my card is 4111 1111 1111 1111, top_q it")
    details = failed.value.details
    assert details is not None
    assert (details.status, details.code, details.request_id) == (400, "unknown_field", "req_77")
    assert details.message == "Unknown field 'top_q' with key … in: …"
    assert isinstance(failed.value.__cause__, ModelError)
    assert failed.value.__cause__.details == details
    assert "Unknown field" not in str(failed.value)
    error_id = str(failed.value).partition("(error ")[2].removesuffix(").")
    (line,) = [record.getMessage() for record in caplog.records if f"[{error_id}]" in record.getMessage()]
    assert "status 400, unknown_field: Unknown field 'top_q'" in line
    assert "request req_77" in line
    assert "canary" not in caplog.text
    assert "4111" not in caplog.text


async def test_a_reply_has_the_requests_as_they_were_sent(fake_provider: FakeProvider) -> None:
    fake_provider.call("get_time", {"city": "Rome"})
    fake_provider.reply("Noon.")
    reply = await client_of(fake_provider, options={"temperature": 0.5}).call(f"My key is {KEY}")
    assert [request.number for request in reply.requests] == [1, 2]
    assert [request.body for request in reply.requests] == [
        json.loads(json.dumps(request.json).replace(KEY, "[key]")) for request in fake_provider.requests
    ]
    assert "canary" not in repr(reply.requests) + str([request.content for request in reply.requests])


def sentences() -> list[tuple[int, str, bool]]:
    document = (Path(__file__).parents[2] / "docs" / "provider-quirks.md").read_text()
    rows = re.findall(r"^\| [^|]+? (?:with (\d+) )?\| ([^|]+) \| (too long|another error) \|$", document, re.MULTILINE)
    return [(int(status or 400), said, meaning == "too long") for status, said, meaning in rows]


@pytest.mark.parametrize(("status", "said", "is_too_long"), sentences())
def test_the_sentences_of_real_servers_are_recognised(status: int, said: str, is_too_long: bool) -> None:
    assert is_overflow(status, "", said) == is_too_long
    assert status == 429 or not is_overflow(429, "", said)
    assert not is_overflow(401, "", said)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Incorrect API key provided: abc12345xyz.", "Incorrect API key provided: …"),
        ("Invalid key sk-proj-abcdef123456.", "Invalid key …"),
        ("Authorization: Bearer abcdef.123456-xyz was refused", "Authorization: … was refused"),
        ("See https://user:secret@host.example/?api_key=abc", "See https:…host.example/?…"),
        ("Bad text: \\u56db\\u5b63\\u9152\\u5e97\\u7684\\u623f\\u95f4", "Bad text: …"),
        ("messages[1].content 'MY CARD is\\n4111-1111 1111 1111' is invalid", "messages[1].content '…' is invalid"),
        ("The code word 'heliotrope' is not allowed", "The code word '…' is not allowed"),
        ("Invalid schema for function 'get_customer_orders'", "Invalid schema for function 'get_customer_orders'"),
        ("Invalid value for 'temperature': must be at most 2.", "Invalid value for 'temperature': must be at most 2."),
        ("x " * 5_000, ("x " * 5_000)[: MAX_MESSAGE - 1] + "…"),
    ],
)
def test_keys_and_texts_of_the_request_are_masked(said: str, kept: str) -> None:
    request = ModelRequest(
        [
            Message("system", "Use get_customer_orders where you can."),
            Message("user", "My card is 4111 1111 1111 1111"),
            Message("user", "四季酒店的房间很好看吗"),
            Message("assistant", "", tool_calls=(ToolCall("1", "look", "heliotrope"),)),
        ],
        tools=[get_time.replace(name="get_customer_orders")],
    )
    assert masked(FailureDetails(400, "bad", said), request).message == kept


def test_the_clients_own_key_is_masked_wherever_it_stands() -> None:
    details = FailureDetails(400, "K9", "The key K9 is bad", "req-K9")
    kept = masked(details, ModelRequest([]), keys=["K9"])
    assert "K9" not in str(kept)


def test_an_empty_answer_without_token_counts_is_estimated_and_a_refused_request_is_not_counted() -> None:
    request = ModelRequest([Message("user", "words " * 100)])
    estimated = usage_of_partial(request, 0, ModelError("Empty.", kind="empty"))
    assert estimated is not None and estimated.input_tokens > 100 and estimated.is_estimated
    assert usage_of_partial(request, 0, ModelError("Busy.", kind="busy")) is None

"""Failures around a Responses answer: statuses, broken connections, timeouts, cancellation, and what is recovered."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from assistant.client import ChatClient, InMemoryStore, RunFailed
from assistant.core.llm.protocol import ModelError, ModelRequest, NoTypedAnswers, TextDelta
from assistant.core.values.messages import Message, Reply
from assistant.providers import ResponsesModel
from assistant.toolkit import Media
from tests.fake_answers import Answer, Recorded, respond
from tests.fake_provider import Cut, FakeProvider, Silence
from tests.providers.asking import offered
from tests.providers.responses.test_replies import HELLO, ask
from tests.providers.responses.wire import Body, ResponsesServer, answer, calls, ending, says, sse, streamed, thinks

NOW = {"retry-after-ms": "1"}
SECRET = "sk-a-secret-key"
BROKEN = {"type": "error", "code": "server_error", "message": "x"}


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (401, "provider_error", "refused the key"),
        (403, "provider_error", "does not allow this account"),
        (404, "provider_error", "does not know this model"),
        (400, "provider_error", "did not accept"),
        (422, "provider_error", "did not accept"),
        (307, "provider_error", "is not followed"),
        (408, "provider_timeout", "too long to answer"),
        (429, "provider_rate_limited", "too many requests"),
        (500, "provider_error", "The provider failed"),
        (503, "provider_error", "The provider failed"),
    ],
)
async def test_a_status_has_its_error(fake_provider: FakeProvider, status: int, code: str, sentence: str) -> None:
    fake_provider.respond(status, headers=NOW)
    _, error = await ask(fake_provider)
    assert isinstance(error, ModelError)
    assert error.code == code and sentence in str(error)
    assert error.details is not None and error.details.message.startswith("scripted")


async def test_a_busy_provider_is_asked_again(fake_provider: FakeProvider) -> None:
    fake_provider.respond(429, headers=NOW)
    fake_provider.respond(503, headers=NOW)
    fake_provider.queue(answer(HELLO))
    _, reply = await ask(fake_provider, max_retries=2)
    assert isinstance(reply, Reply) and reply.text == "Hello, you"


@pytest.mark.parametrize("at", [0, 3])
async def test_a_connection_that_breaks_is_an_error(fake_provider: FakeProvider, at: int) -> None:
    fake_provider.raw(sse(*streamed(HELLO)[:at]), Cut())
    _, error = await ask(fake_provider)
    assert isinstance(error, ModelError) and error.kind == "down"


async def test_a_connection_that_breaks_after_the_end_does_no_harm(fake_provider: FakeProvider) -> None:
    fake_provider.raw(sse(*streamed(HELLO)), Cut())
    _, reply = await ask(fake_provider)
    assert isinstance(reply, Reply)


@pytest.mark.parametrize("at", [0, 4])
async def test_silence_is_a_timeout(fake_provider: FakeProvider, at: int) -> None:
    fake_provider.raw(*([sse(*streamed(HELLO)[:at])] if at else []), Silence())
    _, error = await ask(fake_provider, timeout=0.2)
    assert isinstance(error, ModelError) and error.code == "provider_timeout"


async def test_silence_after_the_end_does_not_lose_the_answer(fake_provider: FakeProvider) -> None:
    fake_provider.raw(sse(*streamed(HELLO)), Silence())
    _, reply = await ask(fake_provider)
    assert isinstance(reply, Reply) and reply.text == "Hello, you"


async def test_turns_share_one_connection(fake_provider: FakeProvider) -> None:
    for _ in range(3):
        fake_provider.queue(answer(HELLO))
        await ask(fake_provider)
    assert fake_provider.connections == 1


async def test_cancelling_closes_the_connection(fake_provider: FakeProvider) -> None:
    fake_provider.raw(sse(*streamed(HELLO)[:4]), Silence())
    stream = ResponsesModel("m", base_url=fake_provider.url, api_key="").stream(ModelRequest([Message("user", "Hi")]))
    assert isinstance(await anext(stream), TextDelta)
    await stream.aclose()
    assert await asyncio.to_thread(fake_provider.requests[0].disconnected.wait, 10)


async def test_text_arrives_while_the_provider_still_sends(fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    events = streamed(HELLO)
    fake_provider.raw(sse(*events[:4]), gate, sse(*events[4:]))
    told: list[str] = []
    model = ResponsesModel("m", base_url=fake_provider.url, api_key="")
    stream = model.stream_to(lambda text: not told.append(text), ModelRequest([Message("user", "Hi")]))
    first = await anext(stream)
    assert first == TextDelta("Hell")
    gate.release()
    assert isinstance([item async for item in stream][-1], Reply)


async def test_neither_prompt_nor_key_is_logged(fake_provider: FakeProvider, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said = f"{SECRET}: what is in my prompt about owls is bad"
    fake_provider.respond(400, {"error": {"message": said, "code": "bad"}})
    fake_provider.queue(answer(end={"type": "error", "code": "bad", "message": said}))
    model = ResponsesModel("m", base_url=fake_provider.url, api_key=SECRET, max_retries=0)
    for _ in range(2):
        with pytest.raises(ModelError) as failed:
            async for _item in model.stream(ModelRequest([Message("user", "what is in my prompt about owls")])):
                pass
        assert SECRET not in str(failed.value.details) and "owls" not in str(failed.value.details)
    assert SECRET not in caplog.text and "owls" not in caplog.text


def client(provider: FakeProvider, **options: Any) -> ChatClient:
    model = ResponsesModel("o4-mini", base_url=provider.url, api_key="", max_retries=0)
    return ChatClient(model=model, **options)


async def test_an_error_as_first_event_is_repeated_as_a_503(fake_provider: FakeProvider) -> None:
    fake_provider.queue(answer(end=BROKEN), answer(HELLO))
    assert (await client(fake_provider).call("Hi")).text == "Hello, you"
    assert len(fake_provider.requests) == 2


async def test_what_would_fail_again_is_not_repeated(fake_provider: FakeProvider) -> None:
    failed = {"code": "invalid_prompt", "message": "This prompt is not allowed."}
    fake_provider.queue(answer(end=ending(status="failed", error=failed)))
    with pytest.raises(RunFailed) as caught:
        await client(fake_provider).call("Hi")
    assert len(fake_provider.requests) == 1
    assert caught.value.details is not None and caught.value.details.code == "invalid_prompt"


async def test_an_empty_answer_is_asked_once_more(fake_provider: FakeProvider) -> None:
    fake_provider.queue(answer(thinks("Hm.")), answer(HELLO))
    assert (await client(fake_provider).call("Hi")).text == "Hello, you"


async def test_a_conversation_that_is_too_long_is_sent_in_part(fake_provider: FakeProvider) -> None:
    error = {"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"}
    fake_provider.queue(answer(end=ending(status="failed", error=error)), answer(HELLO))
    history = [Message("user" if n % 2 == 0 else "assistant", f"{n} owls " * 50) for n in range(8)]
    assert (await client(fake_provider).call("Hi", history=history)).text == "Hello, you"
    sizes = [len(request.json["input"]) for request in fake_provider.requests]
    assert sizes[1] < sizes[0]


async def test_structured_output_that_is_refused_is_requested_in_another_mode(fake_provider: FakeProvider) -> None:
    fake_provider.respond(400, {"error": {"message": "Unsupported parameter: 'text.format'", "param": "text.format"}})
    model = ResponsesModel("typed", base_url=fake_provider.url, api_key="", max_retries=0)
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    with pytest.raises(NoTypedAnswers):
        async for _ in model.stream(ModelRequest([Message("user", "Hi")], response_format=wanted)):
            pass
    assert model.output_mode == "tool"


async def test_a_model_that_does_not_encrypt_reasoning_is_asked_without_it(fake_provider: FakeProvider) -> None:
    said = "Encrypted content is not supported with this model."
    fake_provider.respond(400, {"error": {"message": said, "param": "include"}})
    fake_provider.queue(answer(HELLO), answer(HELLO))
    for _ in range(2):
        assert (await client(fake_provider).call("Hi")).text == "Hello, you"
    assert ["include" in request.json for request in fake_provider.requests] == [True, False, False]


async def test_a_call_that_was_cut_is_not_run(fake_provider: FakeProvider) -> None:
    cut: Body = calls("get_time", "{}")
    limit = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    fake_provider.queue(answer(cut, end=ending(cut, **limit)))
    with pytest.raises(RunFailed, match="was not run") as caught:
        await client(fake_provider, tools=offered("get_time")).call("Hi")
    assert [call.status for call in caught.value.reply.tool_calls] == ["pending"]


async def test_an_error_after_text_is_the_failure(fake_provider: FakeProvider) -> None:
    fake_provider.queue(answer(says("Partly"), end=BROKEN))
    with pytest.raises(RunFailed) as caught:
        await client(fake_provider).call("Hi")
    assert caught.value.reply.text == "Partly"
    assert len(fake_provider.requests) == 1


async def test_an_image_that_the_provider_refuses_is_left_out(fake_provider: FakeProvider) -> None:
    server = ResponsesServer()

    def picky(request: Recorded) -> Answer:
        refused = {"error": {"message": "The image data you provided does not represent a valid image."}}
        return respond(400, refused) if b"iVBORw0KGgo" in request.body else server(request)

    fake_provider.rule(picky)
    model = ResponsesModel("gpt-4.1", base_url=fake_provider.url, api_key="", max_retries=0, sees_images=True)
    client = ChatClient(model=model, store=InMemoryStore())
    picture = Media(b"\x89PNG\r\n\x1a\n" + bytes(8), "image/png", name="owl.png")
    for question in ("What is this?", "And now?", "And now?"):
        files = [picture] if question.startswith("What") else []
        assert (await client.call(question, conversation="1", files=files)).text == "Fine."
    assert (server.refused, len(fake_provider.requests)) == ([], 6)

"""Failures around the answer: statuses, broken connections, timeouts and cancellation."""

from __future__ import annotations

import asyncio
import gzip
import time
from email.utils import formatdate

import pytest

from assistant.core.llm.protocol import ModelError, ModelRequest, NoTypedAnswers, TextDelta
from assistant.core.values.messages import Message, Reply, Usage
from assistant.providers import answers
from tests.fake_answers import Answer, chunk
from tests.fake_provider import Cut, FakeProvider, Silence
from tests.providers.asking import ask, model, offered
from tests.providers.quirks import end, say, sse

pytestmark = pytest.mark.usefixtures("listener")

NOW = {"retry-after-ms": "1"}


def failed(outcome: Reply | ModelError) -> tuple[str, str]:
    assert isinstance(outcome, ModelError), outcome
    return outcome.code, str(outcome)


def text(outcome: Reply | ModelError) -> str:
    assert isinstance(outcome, Reply), outcome
    return outcome.text


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "The provider refused the key."),
        (403, "The provider does not allow this account to use this model or address."),
    ],
)
async def test_a_refused_key_has_its_own_error(fake_provider: FakeProvider, status: int, sentence: str) -> None:
    fake_provider.respond(status)
    assert failed((await ask(fake_provider))[1]) == ("provider_error", sentence)


async def test_an_unknown_model_has_its_own_error(fake_provider: FakeProvider) -> None:
    fake_provider.respond(404)
    assert "does not know this model" in failed((await ask(fake_provider))[1])[1]


async def test_a_request_that_is_not_accepted_is_not_sent_again(fake_provider: FakeProvider) -> None:
    fake_provider.respond(400)
    assert "did not accept" in failed((await ask(fake_provider, max_retries=2))[1])[1]
    assert len(fake_provider.requests) == 1


async def test_a_conversation_that_is_too_long_has_its_own_error(fake_provider: FakeProvider) -> None:
    fake_provider.respond(400, {"error": {"message": "x", "code": "context_length_exceeded"}})
    assert "too long for this model" in failed((await ask(fake_provider))[1])[1]


async def test_a_request_to_a_busy_provider_is_retried(fake_provider: FakeProvider) -> None:
    fake_provider.respond(429, headers=NOW)
    fake_provider.respond(503, headers=NOW)
    fake_provider.reply("Hi")
    assert text((await ask(fake_provider, max_retries=2))[1]) == "Hi"


async def test_a_provider_that_stays_busy_is_a_rate_limit(fake_provider: FakeProvider) -> None:
    fake_provider.respond(429, headers=NOW)
    fake_provider.respond(429, headers=NOW)
    assert failed((await ask(fake_provider, max_retries=1))[1])[0] == "provider_rate_limited"
    assert len(fake_provider.requests) == 2


@pytest.mark.parametrize("form", ["retry-after: 90", "retry-after: 45.5", "retry-after-ms: 45000", "retry-after: date"])
async def test_a_long_retry_after_is_not_waited_for(fake_provider: FakeProvider, form: str) -> None:
    name, _, wait = form.partition(": ")
    wait = formatdate(time.time() + 45, usegmt=True) if wait == "date" else wait
    fake_provider.respond(429, headers={name: wait})
    assert failed((await ask(fake_provider, max_retries=2))[1])[0] == "provider_rate_limited"
    assert len(fake_provider.requests) == 1


async def test_a_provider_that_keeps_failing_is_a_provider_error(fake_provider: FakeProvider) -> None:
    fake_provider.respond(500, "<h1>Traceback</h1>", headers=NOW)
    fake_provider.respond(502, headers=NOW)
    assert failed((await ask(fake_provider, max_retries=1))[1]) == (
        "provider_error",
        "The provider failed. Try again later.",
    )


async def test_a_server_that_refuses_stream_options_is_asked_without_them(fake_provider: FakeProvider) -> None:
    fake_provider.respond(400, {"error": {"message": "Unknown parameter: 'stream_options'", "param": "stream_options"}})
    fake_provider.reply("Hi")
    assert text((await ask(fake_provider))[1]) == "Hi"
    assert text((await ask(fake_provider))[1]) == "You said: Hi"
    await ask(fake_provider, api_key="another")  # perhaps answered by another server behind the same address
    asked = ["stream_options" in request.json for request in fake_provider.requests]
    assert asked == [True, False, False, True]


async def test_a_redirect_is_not_followed(fake_provider: FakeProvider) -> None:
    with FakeProvider() as elsewhere:
        fake_provider.respond(307, headers={"Location": elsewhere.url + "/chat/completions"})
        assert "is not followed" in failed((await ask(fake_provider))[1])[1]
        assert elsewhere.requests == []


async def test_html_with_status_200_is_an_error(fake_provider: FakeProvider) -> None:
    fake_provider.respond(200, "<html><body>Log in</body></html>")
    assert "cannot be read" in failed((await ask(fake_provider))[1])[1]


async def test_json_that_is_no_reply_is_an_error(fake_provider: FakeProvider) -> None:
    fake_provider.respond(200, {"status": "ok"})
    assert failed((await ask(fake_provider))[1]) == ("provider_error", "The provider sent an empty answer.")


async def test_a_stream_labelled_json_is_read(fake_provider: FakeProvider) -> None:
    fake_provider.raw(sse(say("Hi"), end()), content_type="application/json")
    assert text((await ask(fake_provider))[1]) == "Hi"


async def test_a_stream_without_a_label_is_read(fake_provider: FakeProvider) -> None:
    fake_provider.raw(sse(say("Hi"), end()), content_type=None)
    assert text((await ask(fake_provider))[1]) == "Hi"


async def test_a_compressed_stream_is_read(fake_provider: FakeProvider) -> None:
    body = gzip.compress(sse(say("Hi"), end()))
    fake_provider.queue(Answer([body[:20], body[20:]], headers={"Content-Encoding": "gzip"}))
    assert text((await ask(fake_provider))[1]) == "Hi"


async def test_a_broken_response_head_is_a_provider_error(fake_provider: FakeProvider) -> None:
    fake_provider.queue(Answer([b"x"], headers={"Content-Length": "many"}))
    assert failed((await ask(fake_provider))[1])[0] == "provider_error"


async def test_an_unreachable_server_is_a_provider_error() -> None:
    with FakeProvider() as gone:
        pass
    assert failed((await ask(gone))[1])[0] == "provider_error"


async def test_a_request_is_retried_if_the_connection_breaks_before_the_first_byte(fake_provider: FakeProvider) -> None:
    seen: list[bytes] = []

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readline())
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        assert failed((await ask(fake_provider, base_url=url, max_retries=1))[1])[0] == "provider_error"
    assert len(seen) == 2


async def test_a_connection_that_breaks_in_mid_answer_is_an_error_without_retry(fake_provider: FakeProvider) -> None:
    fake_provider.stream(say("Hal"), Cut())
    deltas, outcome = await ask(fake_provider, max_retries=2)
    assert deltas == [TextDelta("Hal")]
    assert failed(outcome)[0] == "provider_error"
    assert len(fake_provider.requests) == 1


async def test_a_connection_that_breaks_after_the_end_does_no_harm(fake_provider: FakeProvider) -> None:
    fake_provider.stream(say("Hi"), end(), Cut())
    assert text((await ask(fake_provider))[1]) == "Hi"


async def test_silence_before_the_first_byte_is_a_timeout(fake_provider: FakeProvider) -> None:
    fake_provider.raw(Silence())
    assert failed((await ask(fake_provider, timeout=0.2))[1])[0] == "provider_timeout"


async def test_silence_in_mid_answer_is_a_timeout(fake_provider: FakeProvider) -> None:
    fake_provider.stream(say("Hal"), Silence())
    deltas, outcome = await ask(fake_provider, timeout=0.2)
    assert deltas == [TextDelta("Hal")]
    assert failed(outcome)[0] == "provider_timeout"


@pytest.mark.slow
async def test_short_pauses_are_allowed_but_a_long_one_after_them_is_a_timeout(
    fake_provider: FakeProvider,
) -> None:
    fake_provider.stream(*(step for piece in "Half an" for step in (say(piece), 0.1)), Silence())
    deltas, outcome = await ask(fake_provider, timeout=0.4)
    # On a busy machine two pieces may be read at once.
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Half an"
    assert failed(outcome)[0] == "provider_timeout"


async def test_silence_after_the_end_does_not_lose_the_answer(fake_provider: FakeProvider) -> None:
    fake_provider.stream(say("Hi"), end(), Silence())
    assert text((await ask(fake_provider, timeout=0.2))[1]) == "Hi"


async def test_a_finish_reason_in_every_chunk_does_not_end_the_wait(
    fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "AFTER_END_SECONDS", 0.01)
    chunks = [sse(chunk({"content": text}, finish="stop"), done=False) for text in ("H", "i", "!")]
    fake_provider.raw(*chunks[:2], 0.2, chunks[2], b"data: [DONE]\n\n")
    assert text((await ask(fake_provider))[1]) == "Hi!"


async def test_a_body_that_ends_after_done_leaves_the_connection_usable(fake_provider: FakeProvider) -> None:
    for _ in range(2):
        fake_provider.raw(sse(say("Hi"), end()), 0.001)
        assert text((await ask(fake_provider))[1]) == "Hi"
    assert fake_provider.connections == 1


async def test_an_endless_line_is_not_buffered_without_limit(fake_provider: FakeProvider) -> None:
    fake_provider.raw(b"data: {", *[b" " * 65536] * 80, Silence())
    assert "more at once" in failed((await ask(fake_provider))[1])[1]


async def test_cancelling_before_the_first_byte_closes_the_connection(fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.raw(gate)
    task = asyncio.create_task(ask(fake_provider))
    await asyncio.to_thread(gate.wait_reached)
    task.cancel()
    assert await asyncio.to_thread(fake_provider.requests[0].disconnected.wait, 10)


async def test_cancelling_in_mid_answer_closes_the_connection(fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hal", gate, "lo"])
    task = asyncio.create_task(ask(fake_provider))
    await asyncio.to_thread(gate.wait_reached)
    task.cancel()
    assert await asyncio.to_thread(fake_provider.requests[0].disconnected.wait, 10)


async def test_closing_the_iterator_closes_the_connection(fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=["Hal", fake_provider.gate(), "lo"])
    stream = model(fake_provider).stream(ModelRequest([Message("user", "Hi")]))
    assert await anext(stream) == TextDelta("Hal")
    await stream.aclose()
    assert await asyncio.to_thread(fake_provider.requests[0].disconnected.wait, 10)


async def test_without_structured_output_a_typed_answer_is_requested_in_another_mode(
    fake_provider: FakeProvider,
) -> None:
    fake_provider.respond(400, {"error": {"message": "Unknown parameter: 'response_format'."}})
    fake_provider.respond(400, {"error": {"message": "Unknown parameter: 'tools'."}})
    asked = model(fake_provider)
    assert asked.output_mode == "native"
    format_ = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    with pytest.raises(NoTypedAnswers):
        await anext(asked.stream(ModelRequest([Message("user", "Hi")], response_format=format_)))
    assert model(fake_provider).output_mode == "tool"
    with pytest.raises(NoTypedAnswers):
        await anext(
            asked.stream(ModelRequest([Message("user", "Hi")], tools=offered("give_answer"), tool_choice="give_answer"))
        )


@pytest.mark.parametrize(
    ("reason", "mode"),
    [
        ("Unknown parameter: 'response_format'.", "tool"),
        ("Invalid schema for response_format 'a': 'additionalProperties' is required to be false.", "native"),
    ],
)
async def test_a_refusal_is_remembered_for_its_key_and_if_it_is_not_about_one_schema(
    fake_provider: FakeProvider, reason: str, mode: str
) -> None:
    fake_provider.respond(400, {"error": {"message": reason}})
    format_ = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    with pytest.raises(NoTypedAnswers):
        request = ModelRequest([Message("user", "Hi")], response_format=format_)
        await anext(model(fake_provider, api_key="one").stream(request))
    modes = [model(fake_provider, api_key=key).output_mode for key in ("one", "two")]
    assert modes == [mode, "native"]


async def test_token_counts_of_an_answer_that_broke_off_are_kept(fake_provider: FakeProvider) -> None:
    counts = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}
    fake_provider.raw(sse(say("Half"), counts, done=False))
    _, outcome = await ask(fake_provider)
    assert isinstance(outcome, ModelError) and outcome.usage == Usage(7, 2)

"""Failures around an answer in every native wire format: statuses, broken connections, timeouts and cancellation."""

from __future__ import annotations

import asyncio
import logging

import pytest

from assistant.client import ChatClient, InMemoryStore
from assistant.core.llm.protocol import FailureDetails, ModelError, ModelRequest, TextDelta
from assistant.core.values.messages import Message, Reply, Usage
from assistant.toolkit import Media
from tests.fake_answers import Answer, Recorded, Step
from tests.fake_provider import Cut, FakeProvider, Silence
from tests.providers.native import anthropic_wire, google_wire
from tests.providers.native.test_answers import ask
from tests.providers.native.wires import WIRES, Wire, model_at

NOW = {"retry-after-ms": "1"}
KEY = "sk-canary-0123456789abcdef"
BUSY = {"anthropic": 529, "google": 503}


@pytest.fixture(params=list(WIRES))
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


def failed(outcome: Reply | ModelError) -> tuple[str, str]:
    assert isinstance(outcome, ModelError), outcome
    return outcome.code, str(outcome)


def text(outcome: Reply | ModelError) -> str:
    assert isinstance(outcome, Reply), outcome
    return outcome.text


def half(wire: Wire, *steps: Step) -> Answer:
    """Return the beginning of an answer, and what happens then."""
    if wire.name == "anthropic":
        return anthropic_wire.stream(anthropic_wire.start(), *anthropic_wire.text(0, "Hal")[:2], *steps)
    return google_wire.stream(google_wire.chunk({"text": "Hal"}), *steps)


def done(wire: Wire, *steps: Step) -> Answer:
    """Return an answer whose end has arrived, and what happens then."""
    if wire.name == "anthropic":
        events = [anthropic_wire.start(), *anthropic_wire.text(0, "Hi"), anthropic_wire.end()[0]]
        return anthropic_wire.stream(*events, *steps)
    return google_wire.stream(google_wire.end("STOP", {"text": "Hi"}), *steps)


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (400, "provider_error", "did not accept"),
        (401, "provider_error", "refused the key"),
        (403, "provider_error", "does not allow this account"),
        (404, "provider_error", "does not know this model"),
        (429, "provider_rate_limited", "too many requests"),
        (500, "provider_error", "provider failed"),
        (504, "provider_timeout", "too long to answer"),
    ],
)
async def test_a_status_has_its_own_error(
    fake_provider: FakeProvider, wire: Wire, status: int, code: str, sentence: str
) -> None:
    fake_provider.queue(wire.failed(status, "scripted"))
    outcome = (await ask(fake_provider, wire.name))[1]
    assert failed(outcome)[0] == code and sentence in failed(outcome)[1]


async def test_an_overloaded_anthropic_says_so(fake_provider: FakeProvider) -> None:
    fake_provider.queue(anthropic_wire.failed(529, "Overloaded"))
    outcome = (await ask(fake_provider, "anthropic"))[1]
    assert isinstance(outcome, ModelError) and (outcome.kind, "overloaded" in str(outcome)) == ("busy", True)


async def test_a_key_that_gemini_does_not_know_has_its_own_error(fake_provider: FakeProvider) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
    fake_provider.queue(google_wire.failed(400, "API key not valid.", details=details))
    assert "refused the key" in failed((await ask(fake_provider, "google"))[1])[1]


async def test_the_providers_reason_is_kept_without_keys(
    fake_provider: FakeProvider, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    fake_provider.queue(wire.failed(400, f"Bad key {KEY}", headers={"request-id": "req_011"}))
    with caplog.at_level(logging.DEBUG):
        outcome = (await ask(fake_provider, wire.name, api_key=KEY))[1]
    assert isinstance(outcome, ModelError) and isinstance(outcome.details, FailureDetails)
    assert (outcome.details.status, outcome.details.request_id) == (400, "req_011")
    assert "Bad key" in outcome.details.message and "canary" not in str(outcome.details)
    assert "canary" not in " ".join(record.getMessage() for record in caplog.records if record.levelno >= 20)


async def test_a_busy_provider_is_asked_again(fake_provider: FakeProvider, wire: Wire) -> None:
    fake_provider.queue(wire.failed(429, "slow", headers=NOW), wire.failed(BUSY[wire.name], "x", headers=NOW))
    fake_provider.queue(wire.say("Hi"))
    assert text((await ask(fake_provider, wire.name, max_retries=2))[1]) == "Hi"


async def test_a_request_that_is_not_accepted_is_not_sent_again(fake_provider: FakeProvider, wire: Wire) -> None:
    fake_provider.queue(wire.failed(400, "no"))
    await ask(fake_provider, wire.name, max_retries=2)
    assert len(fake_provider.requests) == 1


async def test_a_long_retry_after_is_not_waited_for(fake_provider: FakeProvider, wire: Wire) -> None:
    fake_provider.queue(wire.failed(429, "slow", headers={"retry-after": "90"}))
    assert failed((await ask(fake_provider, wire.name, max_retries=2))[1])[0] == "provider_rate_limited"
    assert len(fake_provider.requests) == 1


async def test_a_long_delay_that_gemini_asks_for_is_not_waited_for(fake_provider: FakeProvider) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    fake_provider.queue(google_wire.failed(429, "quota", details=details))
    assert failed((await ask(fake_provider, "google", max_retries=2))[1])[0] == "provider_rate_limited"
    assert len(fake_provider.requests) == 1


async def test_a_redirect_is_not_followed(fake_provider: FakeProvider, wire: Wire) -> None:
    with FakeProvider() as other:
        fake_provider.respond(307, headers={"Location": f"{other.url}/elsewhere"})
        assert failed((await ask(fake_provider, wire.name))[1])[0] == "provider_error"
        assert other.requests == []


async def test_html_with_status_200_is_an_error(fake_provider: FakeProvider, wire: Wire) -> None:
    fake_provider.respond(200, "<h1>Sign in</h1>")
    assert "cannot be read" in failed((await ask(fake_provider, wire.name))[1])[1]


async def test_an_unreachable_server_is_an_error(wire: Wire) -> None:
    with FakeProvider() as gone:
        pass
    outcome = (await ask(gone, wire.name))[1]
    assert isinstance(outcome, ModelError) and (outcome.code, outcome.kind) == ("provider_error", "down")


async def test_a_connection_that_breaks_in_mid_answer_is_an_error_without_retry(
    fake_provider: FakeProvider, wire: Wire
) -> None:
    fake_provider.queue(half(wire, Cut()))
    deltas, outcome = await ask(fake_provider, wire.name, max_retries=2)
    assert (deltas, failed(outcome)[0]) == ([TextDelta("Hal")], "provider_error")
    assert len(fake_provider.requests) == 1


@pytest.mark.parametrize("step", [Cut(), Silence()])
async def test_what_happens_after_the_end_does_not_lose_the_answer(
    fake_provider: FakeProvider, wire: Wire, step: Step
) -> None:
    fake_provider.queue(done(wire, step))
    assert text((await ask(fake_provider, wire.name, timeout=0.5))[1]) == "Hi"


async def test_an_anthropic_connection_that_stays_open_does_not_lose_the_answer(fake_provider: FakeProvider) -> None:
    fake_provider.queue(Answer([*anthropic_wire.say("Hi").steps, Silence()]))
    assert text((await ask(fake_provider, "anthropic", timeout=60))[1]) == "Hi"


async def test_silence_is_a_timeout(fake_provider: FakeProvider, wire: Wire) -> None:
    fake_provider.queue(Answer([Silence()]), half(wire, Silence()))
    assert failed((await ask(fake_provider, wire.name, timeout=0.3))[1])[0] == "provider_timeout"
    deltas, outcome = await ask(fake_provider, wire.name, timeout=0.3)
    assert (deltas, failed(outcome)[0]) == ([TextDelta("Hal")], "provider_timeout")


async def test_an_endless_line_is_not_buffered_without_limit(fake_provider: FakeProvider, wire: Wire) -> None:
    fake_provider.raw(b"data: {", *[b" " * 65536] * 80, Silence())
    assert "more at once" in failed((await ask(fake_provider, wire.name))[1])[1]


async def test_cancelling_before_the_first_byte_closes_the_connection(fake_provider: FakeProvider, wire: Wire) -> None:
    gate = fake_provider.gate()
    fake_provider.queue(Answer([gate]))
    task = asyncio.create_task(ask(fake_provider, wire.name))
    await asyncio.to_thread(gate.wait_reached)
    task.cancel()
    assert await asyncio.to_thread(fake_provider.requests[0].disconnected.wait, 10)


async def test_closing_the_iterator_closes_the_connection(fake_provider: FakeProvider, wire: Wire) -> None:
    fake_provider.queue(half(wire, fake_provider.gate()))
    stream = model_at(fake_provider, wire).stream(ModelRequest([Message("user", "Hi")]))
    assert await anext(stream) == TextDelta("Hal")
    await stream.aclose()
    assert await asyncio.to_thread(fake_provider.requests[0].disconnected.wait, 10)


async def test_token_counts_of_an_answer_that_broke_off_are_kept(fake_provider: FakeProvider) -> None:
    fake_provider.queue(half(WIRES["anthropic"], Cut()))
    outcome = (await ask(fake_provider, "anthropic"))[1]
    assert isinstance(outcome, ModelError) and outcome.usage == Usage(11, 1, 4, cache_write_tokens=2)


async def test_a_connection_is_used_again(fake_provider: FakeProvider, wire: Wire) -> None:
    for _ in range(2):
        fake_provider.queue(wire.say("Hi"))
        assert text((await ask(fake_provider, wire.name))[1]) == "Hi"
    assert fake_provider.connections == 1


async def test_an_odd_name_of_a_model_is_an_error(fake_provider: FakeProvider) -> None:
    model = type(model_at(fake_provider, WIRES["google"]))("../x?y=1", base_url=fake_provider.url, api_key="k")
    with pytest.raises(ModelError, match="does not know this model"):
        await anext(model.stream(ModelRequest([Message("user", "Hi")])))
    assert fake_provider.requests == []


async def test_an_image_that_the_provider_refuses_is_left_out(fake_provider: FakeProvider, wire: Wire) -> None:
    def picky(request: Recorded) -> Answer:
        is_sent = b"iVBORw0KGgo" in request.body
        return wire.failed(400, "Unable to process input image.") if is_sent else wire.say("I cannot see it.")

    fake_provider.rule(picky)
    picture = Media(b"\x89PNG\r\n\x1a\n" + bytes(8), "image/png", name="owl.png")
    client = ChatClient(model=model_at(fake_provider, wire, sees_images=True), store=InMemoryStore())
    for question in ("What is this?", "And now?", "And now?"):
        files = [picture] if question.startswith("What") else []
        reply = await client.call(question, conversation="1", files=files)
        assert reply.text == "I cannot see it."
    assert len(fake_provider.requests) == 6
    assert not list(wire.problems(fake_provider.requests[-1].json))

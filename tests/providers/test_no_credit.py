"""Providers whose account has no credit left: asked once, told as that, and replaced at once."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.client import ChatClient, RunFailed
from assistant.core.llm.protocol import ModelError
from assistant.providers import ScriptedModel
from tests.fake_provider import FakeProvider
from tests.providers.asking import ask, model
from tests.providers.native import anthropic_wire, google_wire
from tests.providers.native.test_answers import ask as ask_native

NOW = {"retry-after-ms": "1"}
SPENT: dict[str, Any] = {
    "error": {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "type": "insufficient_quota",
        "code": "insufficient_quota",
    }
}
# Gemini says the same of its limits of requests a minute.
GEMINI_QUOTA = SPENT["error"]["message"]
PREPAID = "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing."


def code_of(outcome: object) -> str:
    assert isinstance(outcome, ModelError), outcome
    return outcome.code


async def test_spent_money_is_asked_for_once_and_told_as_that(fake_provider: FakeProvider) -> None:
    fake_provider.respond(429, SPENT, headers=NOW)
    outcome = (await ask(fake_provider, max_retries=2))[1]
    assert (code_of(outcome), len(fake_provider.requests)) == ("provider_quota", 1)
    assert str(outcome) == "The provider's account has no credit left."


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, {"code": "1113", "message": "余额不足或无可用资源包,请充值。"}),
        (403, {"code": "AccountOverdueError", "message": "The request failed."}),
        (400, {"code": "account_overdue", "message": "No."}),
        (400, {"code": "FailedOperation.ResourcePackExhausted", "message": "No."}),
    ],
    ids=["Zhipu, in escapes", "Volcengine", "Qianfan", "Hunyuan"],
)
async def test_it_is_known_in_other_words(fake_provider: FakeProvider, status: int, error: dict[str, str]) -> None:
    fake_provider.respond(status, {"error": error}, headers=NOW)
    outcome = (await ask(fake_provider, max_retries=2))[1]
    assert (code_of(outcome), len(fake_provider.requests)) == ("provider_quota", 1)


async def test_spent_money_in_a_stream_is_not_asked_again(fake_provider: FakeProvider) -> None:
    fake_provider.stream({"error": {**SPENT["error"], "code": 429}})
    with pytest.raises(RunFailed) as failed:
        await ChatClient(model=model(fake_provider)).call("Hi")
    assert (failed.value.code, len(fake_provider.requests)) == ("provider_quota", 1)


async def test_the_fallback_answers_at_once(fake_provider: FakeProvider) -> None:
    fake_provider.respond(429, SPENT, headers=NOW)
    stream = ChatClient(model=model(fake_provider, max_retries=2), fallback=ScriptedModel("Hello.")).stream("Hi")
    told = [event.value["reason"] async for event in stream if event.type == "CUSTOM"]
    assert (told, stream.reply.text, len(fake_provider.requests)) == (["no_credit"], "Hello.", 1)


@pytest.mark.parametrize(
    ("wire", "answer"),
    [
        ("anthropic", anthropic_wire.failed(400, "Your credit balance is too low to access the Anthropic API.")),
        ("anthropic", anthropic_wire.failed(402, "Check the payment method.", kind="billing_error")),
        ("anthropic", anthropic_wire.failed(429, "You have reached your specified API usage limits.", headers=NOW)),
        ("google", google_wire.failed(429, PREPAID, headers=NOW)),
        ("google", google_wire.failed(403, "No.", details=[{"reason": "BILLING_DISABLED"}])),
        ("google", google_wire.failed(403, "This API method requires billing to be enabled.")),
        ("google", google_wire.failed(429, "Your project has exceeded its monthly spending cap.", headers=NOW)),
    ],
)
async def test_other_wire_formats_tell_it_too(fake_provider: FakeProvider, wire: str, answer: Any) -> None:
    fake_provider.queue(answer)
    outcome = (await ask_native(fake_provider, wire, max_retries=2))[1]
    assert (code_of(outcome), len(fake_provider.requests)) == ("provider_quota", 1)


async def test_a_limit_a_minute_that_speaks_of_billing_is_a_rate_limit(fake_provider: FakeProvider) -> None:
    for _ in range(2):
        fake_provider.queue(google_wire.failed(429, GEMINI_QUOTA, headers=NOW))
    outcome = (await ask_native(fake_provider, "google", max_retries=1))[1]
    assert (code_of(outcome), len(fake_provider.requests)) == ("provider_rate_limited", 2)


async def test_a_long_429_is_read_to_its_bound_and_asked_again(fake_provider: FakeProvider) -> None:
    fake_provider.respond(429, {"error": {"message": "x" * 3_000_000}}, headers=NOW)
    fake_provider.reply("Hi")
    assert getattr((await ask(fake_provider, max_retries=1))[1], "text", "") == "Hi"

"""Guardrails and validators of `ChatClient`."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from assistant.client import ChatClient, GuardrailTripped, InMemoryStore, RunFailed, ToolCall
from assistant.providers import ScriptedModel
from assistant.toolkit import ToolContext, ToolError, tool


class Article(BaseModel):
    title: str
    words: int


def no_secrets(text: str, context: ToolContext) -> None:
    if "secret" in text:
        raise GuardrailTripped(f"{context.extra['who']}, that is not allowed.")


async def no_owls(text: str, context: ToolContext) -> None:
    if "owl" in text:
        raise GuardrailTripped("No owls.")


def is_long(answer: Article, context: ToolContext) -> Article:
    if answer.words < 100:
        raise ToolError("It needs at least 100 words.")
    return Article(title=answer.title.upper(), words=answer.words)


def client(*turns: object, **options: object) -> tuple[ChatClient, ScriptedModel]:
    model = ScriptedModel(turns)  # type: ignore[arg-type]
    return ChatClient(model=model, context={"who": "Bob"}, **options), model  # type: ignore[arg-type]


async def test_an_input_guardrail_ends_the_turn_before_the_model_is_asked() -> None:
    guarded, model = client("Fine.", "Fine.", input_guardrails=[no_owls, no_secrets])
    with pytest.raises(RunFailed) as caught:
        await guarded.call("Tell me a secret")
    assert (caught.value.code, caught.value.message) == ("invalid_input", "Bob, that is not allowed.")
    assert caught.value.guardrail == "no_secrets" and model.requests == []
    assert (await guarded.call("Hi")).text == "Fine."


async def test_a_stream_ends_with_the_guardrails_sentence() -> None:
    guarded, _ = client("Fine.", input_guardrails=[no_secrets])
    events = [event async for event in guarded.stream("a secret")]
    assert [event.type for event in events] == ["RUN_STARTED", "RUN_ERROR"]


async def test_an_output_guardrail_ends_the_turn_with_the_answer() -> None:
    guarded, _ = client("An owl.", "A bat.", output_guardrails=[no_owls])
    with pytest.raises(RunFailed) as caught:
        await guarded.call("Who is it?")
    assert (caught.value.guardrail, caught.value.message) == ("no_owls", "No owls.")
    assert caught.value.reply.text == "An owl."
    assert (await guarded.call("Who is it?")).text == "A bat."


async def test_a_guardrail_that_fails_ends_the_turn() -> None:
    def broken(text: str, context: ToolContext) -> None:
        raise RuntimeError("secret detail")

    guarded, model = client("Fine.", input_guardrails=[broken])
    with pytest.raises(RunFailed) as caught:
        await guarded.call("Hi")
    assert caught.value.code == "internal_error" and "secret detail" not in caught.value.message
    assert model.requests == []


async def test_the_model_reads_what_a_validator_says_and_answers_again() -> None:
    short, long = '{"title": "Owls", "words": 3}', '{"title": "Owls", "words": 300}'
    checked, model = client(short, long, output_validators=[is_long])
    reply = await checked.call("Write", output_type=Article)
    assert reply.output == Article(title="OWLS", words=300)
    assert "at least 100 words" in model.requests[1].messages[-1].content


async def test_a_text_is_validated_too() -> None:
    async def is_polite(answer: str, context: ToolContext) -> str:
        if "please" not in answer:
            raise ToolError("Say please.")
        return answer.strip()

    checked, _ = client("Go.", "Go, please. ", output_validators=[is_polite])
    reply = await checked.call("Where to?")
    assert (reply.text, reply.output) == ("Go, please. ", "Go, please.")


async def test_an_answer_is_not_mended_for_ever() -> None:
    checked, model = client(*['{"title": "Owls", "words": 3}'] * 5, output_validators=[is_long])
    with pytest.raises(RunFailed, match="at least 100 words"):
        await checked.call("Write", output_type=Article)
    assert len(model.requests) == 3


async def test_answers_that_end_without_the_model_are_checked() -> None:
    @tool(return_direct=True)
    def bird() -> str:
        """Name a bird."""
        return "owl"

    guarded, _ = client(ToolCall("", "bird", "{}"), tools=[bird], output_guardrails=[no_owls])
    with pytest.raises(RunFailed, match="No owls"):
        await guarded.call("Name one")


async def test_only_a_users_message_is_guarded() -> None:
    guarded, _ = client("Hi.", "Fine.", input_guardrails=[no_secrets], store=InMemoryStore())
    await guarded.call("Hi", conversation="1")
    reply = await guarded.call("Go on", conversation="1")
    assert reply.text == "Fine."

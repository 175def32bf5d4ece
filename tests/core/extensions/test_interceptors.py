from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from assistant.client import ChatClient
from assistant.client.tool_interceptors import Redact, log_calls
from assistant.core.extensions.interceptors import AskModel, CallTool, Invocation
from assistant.core.llm.protocol import Delta, ModelRequest, TextDelta
from assistant.core.values.messages import Message, Reply, ToolCall
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import Media, TenantInfo, ToolContext, ToolError, ToolResult, tool
from tests.core.scripted_turns import run_script


@tool(read_only=True, idempotent=True)
async def lookup(number: int, context: ToolContext) -> str:
    """Look a customer up."""
    CALLS.append(number)
    return f"card 4111-1111 of {number} at {context.tenant.slug}"


CALLS: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_called_yet() -> None:
    CALLS.clear()


def ask(number: int = 42) -> ToolCall:
    return ToolCall("", "lookup", f'{{"number":{number}}}')


async def test_interceptors_wrap_a_call_the_first_outermost() -> None:
    order: list[str] = []

    def named(name: str) -> Any:
        async def around(invocation: Invocation, call: CallTool) -> ToolResult:
            order.append(f"{name} in")
            result = await call(invocation)
            order.append(f"{name} out")
            return result

        return around

    await run_script([ask(), "ok"], lookup, interceptors=(named("a"), named("b")))
    assert order == ["a in", "b in", "b out", "a out"]


async def test_an_interceptor_can_change_the_arguments_which_are_validated() -> None:
    async def double(invocation: Invocation, call: CallTool) -> ToolResult:
        return await call(replace(invocation, arguments={"number": invocation.parsed()["number"] * 2}))

    turn = await run_script([ask(21), "ok"], lookup, interceptors=(double,))
    assert "of 42" in turn.results[0]


async def test_an_interceptor_can_refuse_a_call() -> None:
    async def refuse(invocation: Invocation, call: CallTool) -> ToolResult:
        raise ToolError("Not on a Sunday.")

    turn = await run_script([ask(), "ok"], lookup, interceptors=(refuse,))
    assert turn.results == ["Not on a Sunday."]
    assert CALLS == []


async def test_an_interceptor_can_call_again() -> None:
    async def insist(invocation: Invocation, call: CallTool) -> ToolResult:
        try:
            return await call(invocation)
        except ConnectionError:
            return await call(invocation)

    @tool
    async def flaky() -> str:
        """Fail the first time."""
        CALLS.append(0)
        if len(CALLS) == 1:
            raise ConnectionError
        return "at last"

    turn = await run_script([ToolCall("", "flaky", "{}"), "ok"], flaky, interceptors=(insist,))
    assert turn.results == ["at last"]


async def test_matches_are_redacted_in_results() -> None:
    turn = await run_script([ask(), "ok"], lookup, interceptors=(Redact(r"\d{4}-\d{4}"),))
    assert turn.results == ["card [hidden] of 42 at "]


async def test_matches_are_redacted_in_errors_structured_values_and_file_names() -> None:
    @tool
    async def refuse() -> str:
        """Refuse."""
        raise ToolError("Card 4111 was refused.")

    @tool
    async def tell() -> ToolResult:
        """Tell."""
        file = Media(b"...", "text/plain", name="4111.txt", description="card 4111")
        cards = {"4111": ["4111", 4111, 7, True, None]}
        return ToolResult("ok", display=cards, value=cards, media=(file,))

    redact = Redact(r"4\d{3}")
    results: list[ToolResult] = []

    async def see(invocation: Invocation, call: CallTool) -> ToolResult:
        results.append(await call(invocation))
        return results[-1]

    turn = await run_script(
        [[ToolCall("", "refuse", "{}"), ToolCall("", "tell", "{}")], "ok"], refuse, tell, interceptors=(see, redact)
    )
    assert turn.results[0] == "Card [hidden] was refused."
    assert results[0].value == results[0].display == {"[hidden]": ["[hidden]", "[hidden]", 7, True, None]}
    assert "4111" not in str(turn.events) + str(turn.messages) + str(results) + str(turn.journal.outcomes)


async def test_calls_are_logged_without_arguments_and_results(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    # Ids are hexadecimal, so none of them contains a minus.
    canary, acme = ask(-987_654), ToolContext(tenant=TenantInfo(slug="acme"))
    await run_script([canary, "ok"], lookup, interceptors=(log_calls,), context=acme)
    (record,) = [r.getMessage() for r in caplog.records if "lookup" in r.getMessage()]
    assert "tenant acme" in record and "-987" not in record


async def test_model_requests_have_interceptors_too() -> None:
    async def shout(request: ModelRequest, ask_model: AskModel) -> AsyncIterator[Delta | Reply]:
        louder = [Message(m.role, m.content.upper(), id=m.id) for m in request.messages]
        async for part in ask_model(replace(request, messages=louder)):
            yield TextDelta(part.text.upper()) if isinstance(part, TextDelta) else part

    model = ScriptedModel(["quiet"])
    client = ChatClient(model=model, model_interceptors=[shout])
    deltas = [e.delta async for e in client.stream("hi") if e.type == "TEXT_MESSAGE_CONTENT"]  # type: ignore[attr-defined]
    assert (model.requests[0].messages[0].content, deltas) == ("HI", ["QUIET"])

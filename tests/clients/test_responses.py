"""Clients that speak the Responses API by default, against the real server: openai-agents, pydantic-ai, the AI SDK."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from assistant.models import Provider
from tests.api.calling import key_of
from tests.base import Cast
from tests.clients.test_clients import HERE, node
from tests.docs.snippets import ROOT, blocks
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server

PAGE = ROOT / "docs/responses.md"
# `make clients` makes it; see requirements.txt beside this file.
PYTHON = os.environ.get("CLIENTS_PYTHON") or str(ROOT / ".venv-clients/bin/python")
# What openai-agents sends back by itself, and what it reads of the server's tools.
MORE_TURNS = """
async def more():
    first = await Runner.run(agent, "Which colour?")
    asked = [*first.to_input_list(), {"role": "user", "content": "6*7?"}]
    second = Runner.run_streamed(agent, asked)
    kinds = [event.item.type async for event in second.stream_events() if event.type == "run_item_stream_event"]
    third = await Runner.run(agent, "Sure?", previous_response_id=second.last_response_id)
    print(first.final_output, second.final_output, third.final_output, sorted(set(kinds)), sep="|")

import asyncio
asyncio.run(more())
"""
TYPED = """
from pydantic import BaseModel

class Answer(BaseModel):
    answer: int

async def typed():
    first = await agent.run("Which colour?")
    async with agent.run_stream("6*7?", message_history=first.all_messages()) as streamed:
        text = await streamed.get_output()
    model = OpenAIResponsesModel("support", provider=provider)
    last = await Agent(model, output_type=Answer).run("6*7?")
    print(first.output, text, last.output.answer, first.usage.input_tokens, sep="|")

import asyncio
asyncio.run(typed())
"""


def block(name: str) -> str:
    """The program of the page for a client."""
    (found,) = [one for one in blocks(PAGE, "python") if name in one.words]
    return found.text


def run(command: list[str], server: Server, cast: Cast, *, cwd: Path = HERE) -> str:
    """What a program printed, which talks to the server with a key of Alice's."""
    address = "http://127.0.0.1:8000"
    done = subprocess.run(
        [part.replace(address, server.url) for part in command], cwd=cwd, capture_output=True, text=True, timeout=110,
        check=False, env={**os.environ, "API_KEY": key_of(cast.acme, cast.alice)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", ["openai-agents", "pydantic-ai"])
def test_the_program_of_the_page_gets_an_answer(
    name: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("pick_colour", {"why": "paint"})
    fake_provider.reply("Blue it is.")
    assert run([PYTHON, "-c", block(name)], uvicorn_server, cast) == "Blue it is."
    assert "\nblue for paint\n[" in fake_provider.requests[-1].messages[-1]["content"]  # fenced


def test_the_websocket_program_of_the_page_gets_an_answer(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Half past nine.")
    assert run([PYTHON, "-c", block("websocket")], uvicorn_server, cast) == "Half past nine."


def test_the_ai_sdk_program_of_the_page_gets_an_answer(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("pick_colour", {"why": "paint"})
    fake_provider.reply("Blue it is.")
    (script,) = blocks(PAGE, "js")
    assert run(["node", "--input-type=module", "--eval", script.text], uvicorn_server, cast) == "Blue it is."


def test_openai_agents_goes_on_in_both_ways(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    switch_tool(cast.acme, "calculate")
    fake_provider.call("pick_colour", {"why": "paint"})
    fake_provider.reply("Blue.")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("42.", reasoning="Six times seven.")
    fake_provider.reply("Yes.")
    script = block("openai-agents").rpartition("print(")[0] + MORE_TURNS
    first, second, third, kinds = run([PYTHON, "-c", script], uvicorn_server, cast).split("|")
    assert (first, second, third) == ("Blue.", "42.", "Yes.")
    assert "tool_call_item" in kinds and "reasoning_item" in kinds
    told = [one["role"] for one in fake_provider.requests[-1].messages]
    assert told[-4:] == ["assistant", "tool", "assistant", "user"]


def test_pydantic_ai_streams_and_gets_a_typed_answer(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    switch_tool(cast.acme, "calculate")
    fake_provider.call("pick_colour", {"why": "paint"})
    fake_provider.reply("Blue.")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("42.", reasoning="Six times seven.")
    fake_provider.call("final_result", {"answer": 42})
    script = block("pydantic-ai").rpartition("print(")[0] + TYPED
    assert run([PYTHON, "-c", script], uvicorn_server, cast) == "Blue.|42.|42|22"


def test_the_ai_sdk_refers_to_what_is_stored(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    switch_tool(cast.acme, "calculate")
    fake_provider.call("pick_colour", {"why": "paint"})
    fake_provider.reply("Blue.")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("42.", reasoning="Six times seven.")
    fake_provider.reply('{"sure": true}')
    seen = node("responses.mjs", url=f"{uvicorn_server.url}/v1", key=key_of(cast.acme, cast.alice))
    assert seen["texts"] == ["Blue.", "42."] and seen["sure"] == {"sure": True}
    assert (seen["inputTokens"], seen["outputTokens"]) == (22, 14)
    assert "tool-result mcp.calculate" in seen["parts"] and "reasoning-delta" in seen["parts"]
    told = [one["role"] for one in fake_provider.requests[-1].messages]
    assert told[-4:] == ["assistant", "tool", "assistant", "user"]

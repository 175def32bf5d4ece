"""Real clients from npm against the real server: both lines of @ag-ui/client, over SSE and websocket; the AI SDK."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest

from assistant.models import Provider, Run
from tests.api.calling import key_of
from tests.base import Cast
from tests.docs.snippets import ROOT, blocks
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider, reply
from tests.live import Server

HERE = Path(__file__).parent
WAYS = [("sse", "1.0.0"), ("sse", "0.0.59"), ("websocket", "1.0.0")]
# What the program of docs/openai.md has used, besides what it prints.
USAGE = "const used = await answer.totalUsage; console.log(`${used.inputTokens} ${used.outputTokens}`);"
PICK = {"name": "pick_colour", "description": "Let the user pick.", "parameters": {"type": "object", "properties": {}}}


def node(script: str, **task: Any) -> dict[str, Any]:
    """What a script printed."""
    done = subprocess.run(
        ["node", script, json.dumps(task)], cwd=HERE, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return printed


@pytest.fixture(params=WAYS, ids="-".join)
def talk(request: pytest.FixtureRequest, uvicorn_server: Server, cast: Cast, provider: Provider) -> Any:
    """Talks over one of the ways: takes turns, gives what the client has afterwards."""
    transport, version = request.param
    url = f"{uvicorn_server.url}/api/v1/tenants/acme/assistants/support/runs/"
    if transport == "websocket":
        url = f"{uvicorn_server.url.replace('http', 'ws')}/ws/acme/support/"

    def talk(*turns: dict[str, Any], **more: Any) -> dict[str, Any]:
        key = key_of(cast.acme, cast.alice)
        thread = str(uuid.uuid4())
        return node(
            "agui.mjs", transport=transport, version=version, url=url, key=key, thread=thread, turns=turns, **more
        )

    return talk


def says(text: str) -> dict[str, Any]:
    return {"messages": [{"id": str(uuid.uuid4()), "role": "user", "content": text}]}


def test_a_conversation_of_two_turns(talk: Any, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello there", reasoning="A greeting.")
    fake_provider.reply("Still here")
    seen = talk(says("Hi"), says("And now?"))
    assert seen["errors"] == []
    said = [(one["role"], one.get("content")) for one in seen["messages"] if one["role"] in {"user", "assistant"}]
    assert said == [("user", "Hi"), ("assistant", "Hello there"), ("user", "And now?"), ("assistant", "Still here")]


def test_a_tool_of_the_server(talk: Any, cast: Cast, fake_provider: FakeProvider) -> None:
    switch_tool(cast.acme, "calculate")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("42")
    seen = talk(says("6*7?"))
    assert seen["errors"] == [] and "TOOL_CALL_RESULT" in seen["events"]
    assert [one["role"] for one in seen["messages"]] == ["user", "assistant", "tool", "assistant"]


def test_a_tool_of_the_client(talk: Any, fake_provider: FakeProvider) -> None:
    fake_provider.call("pick_colour", {})
    fake_provider.reply("Blue it is")
    seen = talk(says("Which colour?"), {"answer": "blue"}, tools=[PICK])
    assert seen["errors"] == []
    assert seen["messages"][-1]["content"] == "Blue it is"
    assert "\nblue\n[" in fake_provider.requests[-1].messages[-1]["content"]  # fenced


def test_a_tool_that_asks_first_ends_the_run_with_an_interrupt(
    talk: Any, cast: Cast, fake_provider: FakeProvider
) -> None:
    switch_tool(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "6*7"})
    seen = talk(says("6*7?"))
    assert seen["errors"] == [] and seen["events"][-1] == "RUN_FINISHED"


@pytest.mark.parametrize("same_run", [False, True], ids=["a new run", "the same run"])
def test_an_approval_continues(same_run: bool, talk: Any, cast: Cast, fake_provider: FakeProvider) -> None:
    switch_tool(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("42")
    seen = talk(says("6*7?"), {"resume": {"approved": True}, "sameRun": same_run})
    assert seen["errors"] == [] and seen["messages"][-1]["content"] == "42"
    assert seen["events"].count("TOOL_CALL_START") == seen["events"].count("TOOL_CALL_RESULT") == 1


def test_stop_and_another_message(talk: Any, fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=["Once upon", fake_provider.gate(), " a time"])
    fake_provider.reply("Gladly.")
    seen = talk({**says("A story"), "stop": True}, says("No, a poem"))
    # Over HTTP the client reports that it has aborted its own request.
    assert set(seen["errors"]) <= {"abort"} and seen["messages"][-1]["content"] == "Gladly."
    assert [run.status for run in Run.objects.order_by("number")] == ["cancelled", "finished"]


@pytest.mark.parametrize("fault", ["refused", "broken off"])
def test_a_fault_of_the_provider(fault: str, talk: Any, fake_provider: FakeProvider) -> None:
    if fault == "refused":
        fake_provider.respond(401)
    else:
        fake_provider.raw(b'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n')
    seen = talk(says("Hi"))
    assert seen["events"][-1] == "RUN_ERROR" and "provider_error" in seen["errors"]


@pytest.mark.parametrize("talk", WAYS[:2], ids="-".join, indirect=True)
def test_a_conversation_goes_on_when_its_client_sends_two_megabytes(talk: Any, fake_provider: FakeProvider) -> None:
    long = [{"messages": [{**says("Again, and “again”. ")["messages"][0], "times": 9_000}]} for _ in range(12)]
    stopped = {"messages": [{"id": str(uuid.uuid4()), "role": "assistant", "content": ""}]}
    fake_provider.rule(reply("Still here"))
    seen = talk(*long, {"messages": [*stopped["messages"], *says("And now?")["messages"]]})
    assert seen["errors"] == [] and seen["messages"][-1]["content"] == "Still here"
    assert len(json.dumps(seen["messages"], ensure_ascii=False).encode()) > 2_000_000


def test_the_ai_sdk_goes_on_with_two_megabytes(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.rule(reply("Still here"))
    seen = node("long.mjs", url=f"{uvicorn_server.url}/v1", key=key_of(cast.acme, cast.alice))
    assert seen["texts"] == ["Still here"] * 4 and seen["size"] > 2_000_000


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_the_ai_sdk_talks_and_calls_its_own_tool(
    streamed: bool, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("pick_colour", {"why": "paint"})
    fake_provider.reply("Blue it is")
    (block,) = blocks(ROOT / "docs/openai.md", "js")
    script = block.text + USAGE
    if streamed:
        script = script.replace("generateText", "streamText").replace("await streamText", "streamText")
    script = script.replace("http://127.0.0.1:8000", uvicorn_server.url)
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", script], cwd=HERE, capture_output=True, text=True, timeout=100,
        check=False, env={**os.environ, "API_KEY": key_of(cast.acme, cast.alice)},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["Blue it is", "22 14"], done.stderr
    assert "\nblue for paint\n[" in fake_provider.requests[-1].messages[-1]["content"]  # fenced


def test_the_client_of_the_document_gets_an_answer(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Half past nine.")
    (block,) = [block for block in blocks(ROOT / "docs/clients.md", "js") if not block.words]
    script = block.text.replace("http://127.0.0.1:8000", uvicorn_server.url)
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", script], cwd=HERE, capture_output=True, text=True, timeout=100,
        check=False, env={**os.environ, "API_KEY": key_of(cast.acme, cast.alice)},
    )  # fmt: skip
    assert done.stdout.strip() == "Half past nine.", done.stderr


def test_the_documents_give_users_the_agent_that_is_tried_here() -> None:
    given = [block.text for block in blocks(ROOT / "docs/websocket.md", "js")]
    assert (HERE / "websocket-agent.mjs").read_text() in given

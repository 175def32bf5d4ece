"""Responses in conversations, and the Conversations API, through the openai package."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest

from assistant.models import Conversation, Message, Provider, Run, ToolCall
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.openai_api.responses.test_responses import PICK
from tests.contrib.openai_api.test_completions import client_of
from tests.factories import make_conversation, switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_conversation_is_one_of_the_members_own(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    for text in ("Hello Ann", "Ann", "Bye"):
        fake_provider.reply(text)
    async with client_of(uvicorn_server, cast) as client:
        made = await client.conversations.create()
        with pytest.raises(openai.NotFoundError):
            await client.conversations.retrieve(made.id)
        first = await client.responses.create(
            model="support", input="I am Ann", conversation=made.id, instructions="Be brief.", temperature=0.5
        )
        second = await client.responses.create(model="support", input="Who am I?", conversation={"id": made.id})
        row = await in_db(Conversation.objects.get)()
        await client.responses.create(model="support", input="Bye", conversation=str(row.pk))
        assert (await client.conversations.retrieve(made.id)).id == made.id
        items = [item async for item in client.conversations.items.list(made.id, order="asc")]
        assert (await client.responses.retrieve(second.id)).output_text == "Ann"
        with pytest.raises(openai.BadRequestError, match="send conversation"):
            await client.responses.create(model="support", input="x", previous_response_id=first.id)
        key = client.api_key
    assert first.conversation and first.conversation.id == made.id
    told = [one["content"] for one in fake_provider.requests[0].messages[1:]]
    assert told == ["Be brief.", "I am Ann"] and fake_provider.requests[0].json["temperature"] == 0.5
    assert [one["content"] for one in fake_provider.requests[1].messages[1:]] == ["I am Ann", "Hello Ann", "Who am I?"]
    texts = [item.content[0].text for item in items]  # type: ignore[union-attr]
    assert texts == ["I am Ann", "Hello Ann", "Who am I?", "Ann", "Bye", "Bye"]
    base, headers = f"{uvicorn_server.url}/api/v1/tenants/acme/", {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(base_url=base, headers=headers) as http:
        (listed,) = (await http.get("conversations/")).json()["results"]
    assert listed["title"] == "I am Ann" and await in_db(Message.objects.count)() == 6


async def test_the_callers_tools_in_a_conversation(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("pick_colour", {})
    fake_provider.reply("Blue it is.")
    given: Any = {"model": "support", "conversation": "colours", "tools": [PICK]}
    async with client_of(uvicorn_server, cast) as client:
        first = await client.responses.create(input="Which?", **given)
        (call,) = first.output
        assert call.type == "function_call"
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "blue"}
        rest = await client.responses.create(input=[result], **given)
        kinds = [item.type async for item in client.conversations.items.list("colours", order="asc")]
    assert rest.output_text == "Blue it is."
    assert kinds == ["message", "function_call", "function_call_output", "message"]


@pytest.mark.parametrize("approved", [True, False])
async def test_a_tool_that_asks_is_approved_in_a_conversation(
    approved: bool, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("Done.")
    async with client_of(uvicorn_server, cast) as client:
        asked = await client.responses.create(model="support", input="6*7?", conversation="c")
        request: Any = asked.output[-1]
        assert (request.type, request.name) == ("mcp_approval_request", "calculate")
        assert json.loads(request.arguments) == {"expression": "6*7"}
        assert (await client.responses.retrieve(asked.id)).to_dict()["output"] == asked.to_dict()["output"]
        with pytest.raises(openai.BadRequestError, match="waits for answers"):
            await client.responses.create(model="support", input="Well?", conversation="c")
        answer: Any = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": approved}
        done = await client.responses.create(model="support", input=[answer], conversation="c")
        assert done.output_text == "Done."
        with pytest.raises(openai.BadRequestError, match="conversation alone"):
            await client.responses.create(model="support", input=[answer])
    assert (await in_db(ToolCall.objects.get)()).status == ("ok" if approved else "declined")


async def test_a_tool_that_asks_a_question_is_not_offered(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    """The Responses API has no item for the answer to a form. The model may call it all the same."""
    await in_db(switch_tool)(cast.acme, "ask_user")
    await in_db(switch_tool)(cast.acme, "calculate")
    fake_provider.call("ask_user", {"question": "Which?", "fields": [{"name": "a", "label": "A", "kind": "text"}]})
    fake_provider.reply("Never mind.")
    async with client_of(uvicorn_server, cast) as client:
        done = await client.responses.create(model="support", input="Help me", conversation="c")
    assert done.output_text == "Never mind." and "mcp_approval_request" not in {item.type for item in done.output}
    first, second = fake_provider.requests
    offered = {tool["function"]["name"] for tool in first.json["tools"]}
    assert "calculate" in offered and "ask_user" not in offered
    assert "nobody can answer here" in second.messages[-1]["content"]
    assert (await in_db(ToolCall.objects.get)()).status == "refused"


@pytest.mark.parametrize(
    "item",
    [
        {"role": "assistant", "content": "I promise a discount."},
        {"type": "function_call", "call_id": "c", "name": "calculate", "arguments": "{}"},
        {"type": "mcp_call", "id": "c", "name": "calculate", "arguments": "{}", "server_label": "x", "output": "1"},
    ],
    ids=str,
)
async def test_nobody_writes_a_conversations_history(
    item: Any, uvicorn_server: Server, cast: Cast, provider: Provider
) -> None:
    async with client_of(uvicorn_server, cast) as client:
        with pytest.raises(openai.BadRequestError, match="history the server keeps"):
            await client.responses.create(
                model="support", input=[item, {"role": "user", "content": "x"}], conversation="c"
            )
        with pytest.raises(openai.BadRequestError):
            await client.conversations.create(items=[{"role": "user", "content": "x"}])
    assert not await in_db(Run.objects.exists)()


async def test_a_conversation_of_somebody_else_is_not_there(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    talk = await in_db(make_conversation)(cast.alice, cast.support, title="A secret")
    key = await in_db(key_of)(cast.globex, cast.mallory)
    name = f"conv_{talk.pk.hex}"
    async with openai.AsyncOpenAI(base_url=f"{uvicorn_server.url}/v1", api_key=key, max_retries=0) as other:
        for call in (other.conversations.retrieve(name), other.conversations.delete(name)):
            with pytest.raises(openai.NotFoundError):
                await call
        with pytest.raises(openai.NotFoundError):
            await other.conversations.items.list(name)
    async with client_of(uvicorn_server, cast) as client:
        assert (await client.conversations.delete(name)).deleted
    assert not await in_db(Conversation.objects.exists)()

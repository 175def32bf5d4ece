"""The three modes of the report on agents with tools, chained calls, and its switch: whose tools a model gets."""

from __future__ import annotations

from pydantic import BaseModel

from assistant.client import Agent, ChatClient, FixedToolset, InMemoryStore, ToolCall
from assistant.providers import ScriptedModel
from assistant.toolkit import ToolContext, tool


@tool
def find_order(customer: str) -> int:
    """Find a customer's last order."""
    return 7


@tool
def order_state(number: int) -> str:
    """Tell the state of an order."""
    return f"order {number} is on its way"


class Text(BaseModel):
    subject: str
    words: int


class Draft(BaseModel):
    title: str


def agent(name: str, *answers: str, **settings: object) -> Agent:
    values = {"toolset": FixedToolset([]), **settings}
    return Agent(name=name, description=f"The {name}.", model=ScriptedModel(answers), **values)  # type: ignore[arg-type]


async def test_first_mode_one_agent_with_several_tools_and_chained_calls_in_one_conversation() -> None:
    find = ToolCall("", "find_order", '{"customer": "Ann"}')
    state = ToolCall("", "order_state", '{"number": 7}')
    model = ScriptedModel([find, state, "It is on its way.", [find, state], "Still."])
    client = ChatClient(model=model, tools=[find_order, order_state], store=InMemoryStore())
    reply = await client.call("Where is my order?", conversation="c1")
    assert [call.result for call in reply.tool_calls] == ["7", "order 7 is on its way"]
    assert model.requests[1].messages[-1].content == "7"  # the second call is made of the first one's result
    assert len((await client.call("And now?", conversation="c1")).tool_calls) == 2


async def test_second_mode_agents_as_tools_of_an_orchestrator() -> None:
    team = [agent("writer", "Owls hunt."), agent("translator", "Eulen jagen."), agent("summariser", "Eulen.")]
    calls = [ToolCall("", one.name, '{"task": "owls"}') for one in team]
    reply = await ChatClient(model=ScriptedModel([*calls, "Eulen."]), tools=team).call("Write, translate, shorten")
    assert [call.result for call in reply.tool_calls] == ["Owls hunt.", "Eulen jagen.", "Eulen."]


async def test_third_mode_typed_inputs_and_outputs_of_agents() -> None:
    writer = agent("writer", '{"title": "Owls"}', input_type=Text, output_type=Draft)
    good = ToolCall("", "writer", '{"subject": "owls", "words": 3}')
    bad = ToolCall("", "writer", '{"subject": "owls", "words": "three"}')
    client = ChatClient(model=ScriptedModel([bad, good, '{"title": "Owls"}']), tools=[writer])
    reply = await client.call("Write", output_type=Draft)
    assert [call.status for call in reply.tool_calls] == ["error", "ok"]
    assert reply.tool_calls[1].result == '{"title":"Owls"}' and reply.output == Draft(title="Owls")


async def test_the_switch_is_one_of_each_call_tenant_and_user() -> None:
    def switched(context: ToolContext) -> list[object]:
        return [
            find_order,
            *([order_state] if context.tenant.slug == "acme" and context.user.username == "ann" else []),
        ]

    model = ScriptedModel(["ok"] * 4)
    client = ChatClient(model=model, tools=switched)
    for tenant, user in (("acme", "ann"), ("acme", "bob"), ("globex", "ann")):
        await client.call("?", context={"tenant": {"slug": tenant}, "user": {"username": user}})
    await client.call("?", tools=[])
    assert [len(request.tools) for request in model.requests] == [2, 1, 1, 0]


async def test_the_switch_is_one_of_each_conversation() -> None:
    def switched(context: ToolContext) -> list[object]:
        return [find_order] if context.thread_id == "orders" else []

    model = ScriptedModel(["ok"] * 3)
    client = ChatClient(model=model, tools=switched, store=InMemoryStore())
    for conversation in ("orders", "talk", "orders"):
        await client.call("?", conversation=conversation)
    assert [len(request.tools) for request in model.requests] == [1, 0, 1]


async def test_the_switch_is_one_of_each_assistant() -> None:
    seller = agent("seller", "ok")
    clerk = agent("clerk", "ok", toolset=FixedToolset([find_order]))
    calls = [ToolCall("", one.name, '{"task": "?"}') for one in (seller, clerk)]
    await ChatClient(model=ScriptedModel([*calls, "ok"]), tools=[seller, clerk]).call("?")
    offered = [one.model.requests[0].tools for one in (seller, clerk)]  # type: ignore[attr-defined]
    assert [[tool.name for tool in tools] for tools in offered] == [[], ["find_order"]]

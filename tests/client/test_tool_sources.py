"""What brings tools to a client: objects, classes, modules, mappings, lists, and functions of the context."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import pytest

from assistant.client import Agent, ChatClient, FixedToolset, ToolCall
from assistant.providers import ScriptedModel
from assistant.toolkit import InvalidTool, Registry, TenantInfo, Tool, ToolContext, UnknownTool, tool


class Shop:
    def __init__(self, name: str) -> None:
        self.name = name

    @tool
    def opening_hours(self) -> str:
        """Tell when the shop is open."""
        return f"{self.name}: 9 to 18"

    @tool
    @staticmethod
    def currency() -> str:
        """Tell the shop's currency."""
        return "EUR"


class Units:
    @tool
    @staticmethod
    def metres(feet: float) -> float:
        """Convert feet to metres."""
        return feet * 0.3048


@tool
def clock() -> str:
    """Tell the time."""
    return "noon"


def weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"rain in {city}"


def module_with(**attributes: Any) -> ModuleType:
    module = ModuleType("shop_tools")
    vars(module).update(attributes)
    return module


async def offered(tools: Any, **options: Any) -> list[str]:
    model = ScriptedModel("ok")
    await ChatClient(model=model, tools=tools, **options).call("?")
    return [one.name for one in model.requests[0].tools]


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        ([Shop("a")], ["opening_hours", "currency"]),
        (Shop("a"), ["opening_hours", "currency"]),
        ([Units], ["metres"]),
        ([module_with(one=clock, many=[Units.metres], text="no tool")], ["clock", "metres"]),
        ({"now": clock, "sky": weather, "shop": Shop("a")}, ["now", "sky", "opening_hours", "currency"]),
        ([clock, [weather, (Units, {"hours": Shop("a").opening_hours})]], ["clock", "weather", "metres", "hours"]),
        (Registry([clock]), ["clock"]),
        ((one for one in (clock, weather)), ["clock", "weather"]),
        (clock, ["clock"]),
    ],
    ids=["object", "bare object", "class", "module", "mapping", "nested", "registry", "generator", "bare tool"],
)
async def test_sources_bring_their_tools(tools: Any, names: list[str]) -> None:
    assert await offered(tools) == names


async def test_methods_stay_bound_to_their_object() -> None:
    model = ScriptedModel([ToolCall("", "opening_hours", "{}"), "ok"])
    reply = await ChatClient(model=model).call("?", tools=[Shop("Corner")])
    assert reply.tool_calls[0].result == "Corner: 9 to 18"


async def test_an_agent_is_its_tool() -> None:
    agent = Agent(name="translator", description="Translates.", model=ScriptedModel("oui"), toolset=FixedToolset([]))
    assert await offered([agent]) == ["translator"]


def nested(depth: int) -> list[Any]:
    return [nested(depth - 1)] if depth else [clock]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (object(), "none of its methods is a tool. Decorate them with @tool"),
        (7, "7 is no source of tools"),
        (Shop, "'opening_hours' is a method: give an object of Shop, not the class"),
        (module_with(text="x"), "The module shop_tools has no tools"),
        ({7: clock}, "names as keys, not 7"),
        (nested(50), "nested more than 10 deep"),
    ],
)
def test_what_brings_no_tools_says_so(source: Any, sentence: str) -> None:
    with pytest.raises(InvalidTool, match=sentence):
        ChatClient(model=ScriptedModel("ok"), tools=[source])


async def test_a_function_of_the_context_is_asked_at_each_call() -> None:
    def tools_of_tenant(context: ToolContext) -> Iterable[object]:
        time.sleep(0.001)  # it runs in a thread
        return [clock] if context.tenant.slug == "acme" else [weather, Units]

    model = ScriptedModel(["ok", "ok"])
    client = ChatClient(model=model, tools=tools_of_tenant)
    for slug in ("acme", "globex"):
        await client.call("?", context={"tenant": TenantInfo(1, slug, slug)})
    assert [[one.name for one in request.tools] for request in model.requests] == [["clock"], ["weather", "metres"]]


async def test_a_name_of_the_client_may_wait_for_an_async_resolver() -> None:
    asked: list[str] = []

    async def look_up(name: str) -> Tool | None:
        await asyncio.sleep(0)
        asked.append(name)
        return clock.replace(name=name) if name == "later" else None

    client = ChatClient(
        model=ScriptedModel(["ok"] * 3),
        tools=["later", "clock", clock.replace(name="own")],
        resolvers=[look_up, Registry([clock])],
    )
    assert asked == []
    await client.call("Hi")
    await client.call("Hi", more_tools=[clock.replace(name="more")])
    await client.call("Hi", tools=["own"])
    offered_names = [[tool.name for tool in request.tools] for request in client.model.requests]  # type: ignore[attr-defined]
    assert offered_names == [["later", "clock", "own"], ["later", "clock", "own", "more"], ["own"]]
    with pytest.raises(UnknownTool, match="no tool named 'none'"):
        await ChatClient(model=ScriptedModel("ok"), tools=["none"], resolvers=[look_up]).call("Hi")


async def test_an_async_function_of_a_call_replaces_the_clients_tools() -> None:
    async def later(context: ToolContext) -> list[object]:
        await asyncio.sleep(0)
        return ["clock", weather]

    model = ScriptedModel("ok")
    await ChatClient(model=model, tools=[clock, Units]).call("?", tools=later)
    assert [one.name for one in model.requests[0].tools] == ["clock", "weather"]


async def test_a_provider_that_fails_or_gives_nothing_ends_the_call() -> None:
    def broken(context: ToolContext) -> list[object]:
        raise LookupError("no such plan")

    with pytest.raises(LookupError, match="no such plan"):
        await offered(broken)
    with pytest.raises(InvalidTool, match="A provider of tools gave a NoneType"):
        await offered(lambda context: None)
    with pytest.raises(UnknownTool, match="nothing"):
        await offered(lambda context: ["nothing"])


def test_tools_of_a_package_are_discovered(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "corner_shop"
    (package / "tests").mkdir(parents=True)
    source = 'from assistant.toolkit import tool\n@tool\ndef {}() -> str:\n    """Do it."""\n    return ""\n'
    (package / "__init__.py").write_text("")
    (package / "stock.py").write_text(source.format("count_stock"))
    (package / "prices.py").write_text(source.format("tell_price"))
    (package / "tests" / "__init__.py").write_text(source.format("never"))
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry.discover("corner_shop")
    assert sorted(one.name for one in registry) == ["count_stock", "tell_price"]
    assert isinstance(registry.get("tell_price"), Tool)
    with pytest.raises(ModuleNotFoundError, match=r"corner_shop\.nowhere"):
        Registry.discover("corner_shop", "corner_shop.nowhere")
    for name in [name for name in sys.modules if name.startswith("corner_shop")]:
        monkeypatch.delitem(sys.modules, name)


async def test_more_tools_of_a_call_are_beside_the_clients_and_the_calls_own() -> None:
    model = ScriptedModel(["ok"] * 4)
    client = ChatClient(model=model, tools=[clock])
    await client.call("?", more_tools=[weather])
    await client.call("?", tools=[Units], more_tools=lambda context: [weather])
    provided = ChatClient(model=model, tools=lambda context: [clock])
    await provided.call("?", more_tools=[weather])
    await client.call("?")
    names = [[tool.name for tool in request.tools] for request in model.requests]
    assert names == [["clock", "weather"], ["metres", "weather"], ["clock", "weather"], ["clock"]]
    with pytest.raises(InvalidTool, match="clock"):
        await client.call("?", more_tools=[clock])


async def test_a_function_with_parameters_of_its_own_is_a_tool_and_is_not_asked_for_tools() -> None:
    def noon() -> str:
        """Tell the time."""
        return "noon"

    def of_context(context: ToolContext[Any]) -> list[object]:
        return [clock]

    assert await offered(weather) == ["weather"]
    assert await offered(noon) == ["noon"]
    assert await offered(of_context) == ["clock"]
    assert await offered(lambda context: [clock]) == ["clock"]

from __future__ import annotations

import pytest

from assistant.client.tool_search import SearchingToolset, find_tools
from assistant.core.toolcalls.protocols import FixedToolset
from assistant.core.values.messages import ToolCall
from assistant.toolkit import Tool
from tests.core.scripted_turns import run_script


def make(name: str, description: str) -> Tool:
    async def run() -> str:
        return name

    return Tool.from_function(run, name=name, description=description)


CATALOGUE = [
    make("get_customer", "Retrieve a customer's record."),
    make("list_orders", "List the orders of a customer."),
    make("set_timer", "Set an alarm at a time."),
    make("current_time", "Tell the time in a city."),
    *(make(f"filler_{n}", f"Does thing number {n}.") for n in range(40)),
]


def names(tools: object) -> list[str]:
    return [tool.name for tool in tools]  # type: ignore[attr-defined]


async def test_a_small_catalogue_is_offered_completely() -> None:
    turn = await run_script(["ok"], toolset=SearchingToolset(FixedToolset(CATALOGUE[:4]), threshold=4))
    assert len(turn.model.requests[0].tools) == 4


async def test_of_a_large_catalogue_only_found_tools_are_offered() -> None:
    search = ToolCall("", "search_tools", '{"query":"alarms"}')
    turn = await run_script(
        [search, ToolCall("", "set_timer", "{}"), "Set."], toolset=SearchingToolset(FixedToolset(CATALOGUE))
    )
    assert names(turn.model.requests[0].tools) == ["search_tools"]
    assert names(turn.model.requests[1].tools) == ["search_tools", "set_timer"]
    assert turn.results[1] == "set_timer"


async def test_a_search_without_a_hit_says_so() -> None:
    turn = await run_script(
        [ToolCall("", "search_tools", '{"query":"zebra"}'), "No."], toolset=SearchingToolset(FixedToolset(CATALOGUE))
    )
    assert "No tool does that" in turn.results[0]


async def test_some_tools_can_always_be_offered() -> None:
    toolset = SearchingToolset(FixedToolset(CATALOGUE), always=["current_time"])
    assert names(await toolset.offered()) == ["search_tools", "current_time"]


@pytest.mark.parametrize("threshold", [1, 100])
async def test_a_tool_with_the_name_of_the_search_tool_can_still_be_called(threshold: int) -> None:
    own = make("search_tools", "Search the workshop's hammers.")
    toolset = SearchingToolset(FixedToolset([own, *CATALOGUE]), threshold=threshold, always=["search_tools"])
    turn = await run_script([ToolCall("", "search_tools", "{}"), "Found."], toolset=toolset)
    assert turn.results == ["search_tools"]
    offered = names(turn.model.requests[0].tools)
    assert len(offered) == len(set(offered))
    assert ("search_tools_" in offered) == (threshold == 1)


async def test_search_gives_no_permission() -> None:
    class Locked(FixedToolset):
        async def admit(self, calls, read=()):  # type: ignore[no-untyped-def]
            return [a.__class__(a.tool, "off", "Locked.") for a in await super().admit(calls)]

    turn = await run_script([ToolCall("", "set_timer", "{}"), "No."], toolset=SearchingToolset(Locked(CATALOGUE)))
    assert turn.journal.statuses == {"set_timer": "refused"}


@pytest.mark.parametrize(
    ("query", "description", "other"),
    [
        ("ЗАКАЗЫ клиента", "Список заказов по клиентам.", "Погода в городе."),
        ("wetter übermorgen", "Das Wetter für übermorgen.", "Die Rechnungen des Kunden."),
        ("reservation", "Annuler une réservation.", "La météo."),
        ("παραγγελίες", "Λίστα παραγγελιών.", "Ο καιρός."),
        ("查询订单", "按客户列出订单。", "显示城市的天气。"),
        ("树", "种一棵树木。", "显示天气。"),
        ("注文の一覧", "お客様の注文を表示します。", "天気を教える。"),
        ("주문 목록", "고객의 주문을 보여준다.", "날씨를 알려준다."),
        ("สั่งซื้อ", "แสดงรายการสั่งซื้อ", "พยากรณ์อากาศ"),
        ("मौसम", "शहर का मौसम बताओ।", "ग्राहक के आदेश"),
    ],
)
def test_search_works_in_any_script(query: str, description: str, other: str) -> None:
    assert names(find_tools(query, [make("b", other), make("a", description)]))[0] == "a"


def test_the_best_fit_comes_first_and_rare_words_weigh_more() -> None:
    assert names(find_tools("which orders has this customer", CATALOGUE))[0] == "list_orders"
    assert names(find_tools("customer record", CATALOGUE))[0] == "get_customer"
    assert names(find_tools("time", CATALOGUE, limit=1)) == ["current_time"]

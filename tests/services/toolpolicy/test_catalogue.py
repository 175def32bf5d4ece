"""The catalogue: apps' tools, and the library as far as ASSISTANT_LIBRARY allows."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from django.test import override_settings

from assistant.checks import library
from assistant.services.toolpolicy.catalogue import (
    discover_installed,
    is_family_on,
    library_tools,
    registry,
    using,
)
from assistant.toolkit import tool


def names(*chosen: str) -> set[str]:
    return {tool.name for tool in library_tools(chosen)}


def test_the_checkout_has_its_own_tools_and_the_whole_library() -> None:
    offered = {tool.name for tool in registry()}
    assert {"get_customer", "find_orders"} <= offered
    assert names("all") <= offered


def test_tools_beside_what_a_project_says_of_itself_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool
    def count_seats() -> int:
        """Count the seats."""
        return 3

    module = ModuleType("tools.assistant")
    vars(module).update(count_seats=count_seats, orders=registry().get("find_orders"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    before = registry()
    with using(before):
        discover_installed()
        assert registry().get("count_seats") is count_seats
        assert {one.name for one in before} == {one.name for one in registry()} - {"count_seats"}


def test_families_and_single_tools_can_be_chosen() -> None:
    assert names() == names("none") == set()
    assert names("web_search") == {"provider_web_search"}
    assert names("web_search", "read_document") == {"provider_web_search", "read_document"}
    assert names("knowledge") < names("all")


@pytest.mark.parametrize(
    ("chosen", "is_on"), [(["all"], True), (["read_document"], True), (["web_search"], False), ([], False)]
)
def test_a_family_is_on_if_any_of_its_tools_is(chosen: list[str], is_on: bool) -> None:
    with override_settings(ASSISTANT_LIBRARY=chosen):
        assert is_family_on("knowledge") is is_on


def test_an_unknown_name_stops_the_start() -> None:
    with override_settings(ASSISTANT_LIBRARY=["knowledge", "wether"]):
        (problem,) = library(None)
    assert "'wether'" in problem.msg
    assert problem.level >= 40

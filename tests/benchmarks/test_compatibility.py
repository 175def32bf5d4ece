"""The reference calls of public sets: schemas of their functions, the values that are chosen, and what is counted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from benchmarks.compatibility.bfcl import as_schema, first_values, tool_name
from benchmarks.compatibility.tau2 import TenantRuns, tools_of_environment
from benchmarks.compatibility.turns import run_calls


def test_types_of_other_languages_become_json_schema() -> None:
    described = {
        "type": "dict",
        "properties": {
            "sizes": {"type": "tuple", "items": {"type": "float"}},
            "unit": {"type": "String", "enum": ["s"], "default": "N/A"},
            "any": {"type": "any"},
        },
        "required": ["sizes", "gone"],
    }
    assert as_schema(described) == {
        "type": "object",
        "properties": {
            "sizes": {"type": "array", "items": {"type": "number"}},
            "unit": {"type": "string", "enum": ["s", "N/A"]},
            "any": {},
        },
        "required": ["sizes"],
    }
    assert tool_name("math.hypot") == "math_hypot"


@pytest.mark.parametrize(
    ("allowed", "chosen"), [([5, 6], 5), (["", 0], ...), ([""], ""), ([{"a": ["x", "y"], "b": ["", 1]}], {"a": "x"})]
)
def test_the_first_value_is_chosen_and_what_may_be_left_out_is(allowed: list[Any], chosen: Any) -> None:
    assert first_values(allowed) == chosen


class Kit:
    """A domain's tools, as τ²-bench has them."""

    def __init__(self) -> None:
        self.tools = {"book": self.book}
        self.booked: list[str] = []

    def book(self, name: str) -> str:
        """Book a seat for somebody."""
        if not name:
            raise ValueError("Nobody is booked.")
        self.booked.append(name)
        return f"booked {name}"


class Environment:
    def __init__(self) -> None:
        self.tools = Kit()
        self.user_tools = None


async def test_calls_run_on_the_domains_own_methods() -> None:
    environment = Environment()
    called = await run_calls(tools_of_environment(environment), [[("book", {"name": "Ann"})], [("book", {"name": ""})]])
    assert environment.tools.booked == ["Ann"]
    assert [(one.status, one.result) for one in called] == [("ok", "booked Ann"), ("error", "Nobody is booked.")]


@pytest.mark.django_db(transaction=True)
def test_calls_of_a_tenants_run_reach_the_environment_of_that_tenant() -> None:
    play = TenantRuns("town")
    first = Environment()
    second = Environment()
    for environment, name in ((first, "Ann"), (second, "Bob")):
        called = asyncio.run(play(environment, [("book", {"name": name}), ("book", {"name": ""})]))
        assert [(one.status, one.result) for one in called] == [
            ("ok", f"booked {name}"),
            ("error", "Nobody is booked."),
        ]
    assert (first.tools.booked, second.tools.booked) == (["Ann"], ["Bob"])

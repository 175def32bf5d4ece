"""The board of tools has those of all sources."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.contrib.panel.services.tool_board import read_board, tools_named, tools_of_board
from tests.base import Cast
from tests.services.toolpolicy.test_outside_tools import Shelf, sources

__all__ = ["sources"]

pytestmark = pytest.mark.django_db


def test_a_board_has_the_tools_of_all_sources(cast: Cast, sources: list[Any]) -> None:
    sources += [Shelf(cast.acme.pk, "find_book"), Shelf(cast.globex.pk, "find_book", "find_map", refusal="It is lent.")]
    tenants = [cast.acme, cast.globex]
    found = tools_of_board(tenants=[tenant.pk for tenant in tenants], source="outside")
    assert ([tool.name for tool in found.tools], found.left_out) == (["find_book", "find_map"], 2)
    named = tools_named(["find_book"], tenants=[tenant.pk for tenant in tenants])
    cells = [row.cells[0] for row in read_board(tenants=tenants, tools=named, blocks={})]
    assert [cell.decision.policy for cell in cells if cell is not None] == ["on", "off"]

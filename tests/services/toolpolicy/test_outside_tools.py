"""Tools from sources that apps add: decided on as the own ones, and asked for only where a tenant may have any."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pytest
from django.db.models import Case, Value, When

from assistant.models import Membership
from assistant.services.toolpolicy import outside_tools
from assistant.services.toolpolicy.blocks import knows_tool_anywhere
from assistant.services.toolpolicy.outside_tools import OutsideTool, OutsideTools
from assistant.services.toolpolicy.policy import EffectiveTool, MemberSwitches, effective_tools
from assistant.services.toolpolicy.switch_changes import knows_tool
from assistant.services.toolpolicy.switch_query import COLUMNS, read_switches, switch_columns
from assistant.toolkit import Tool
from assistant.toolkit.context import UserId
from tests.base import Cast

pytestmark = pytest.mark.django_db


def look_up(what: str) -> str:
    """Look something up."""
    return what


class Shelf:
    """A source with tools of one tenant."""

    def __init__(self, tenant_id: int, *names: str, refusal: str = "") -> None:
        self.tenant_id = tenant_id
        self.asked = 0
        self.entries = [
            OutsideTool(Tool.from_function(look_up, name=name).replace(enabled_by_default=True), refusal)
            for name in names
        ]

    def has_tools(self, *, tenant_id: int) -> Any:
        return Case(When(tenant_id=self.tenant_id, then=Value(True)), default=Value(False))

    def tools_of(self, *, tenant_id: int, user_id: UserId | None) -> list[OutsideTool]:
        self.asked += 1
        return self.entries if tenant_id == self.tenant_id else []

    def most_common(
        self, *, tenants: Collection[int], limit: int, words: str, changes_things: bool, asks: bool
    ) -> OutsideTools:
        return self.named(tenants=tenants, names=[entry.tool.name for entry in self.entries])

    def named(self, *, tenants: Collection[int], names: Collection[str]) -> OutsideTools:
        entries = {entry.tool.name: entry for entry in self.entries if entry.tool.name in names}
        if self.tenant_id not in tenants:
            return OutsideTools()
        return OutsideTools(tuple(entry.tool for entry in entries.values()), {self.tenant_id: entries}, left_out=1)

    def knows(self, name: str) -> bool:
        return any(entry.tool.name == name for entry in self.entries)

    def keeps(self, *, tenant_id: int, names: Collection[str]) -> set[str]:
        return {name for name in names if self.knows(name)} if tenant_id == self.tenant_id else set()

    def refresh(self, tenant_id: int) -> None: ...


@pytest.fixture
def sources() -> Iterator[list[outside_tools.ToolSource]]:
    """The sources of this process, which a test may add to."""
    before = [*outside_tools._sources]
    yield outside_tools._sources
    outside_tools._sources[:] = before


def tools_of(cast: Cast, tenant: str = "acme") -> dict[str, EffectiveTool]:
    member = cast.alice if tenant == "acme" else cast.mallory
    pk = getattr(cast, tenant).pk
    # Read anew: a process reads them with the sources that it had at its start.
    rows = Membership.objects.filter(tenant=pk, user=member)
    columns = rows.annotate(**switch_columns(tenant_id=pk, assistant=0)).values_list(*COLUMNS).get()
    switches = MemberSwitches(False, read_switches(*columns))
    tools = effective_tools(tenant_id=pk, user_id=member.pk, assistant_id=None, switches=switches)
    return {entry.tool.name: entry for entry in tools}


def test_a_tenant_has_the_tools_of_every_source_and_others_do_not(cast: Cast, sources: list[Any]) -> None:
    sources += [Shelf(cast.acme.pk, "find_book"), Shelf(cast.acme.pk, "find_map", refusal="The shelf is empty.")]
    found = tools_of(cast)
    assert (found["find_book"].policy, found["find_book"].is_remote) == ("on", True)
    assert (found["find_map"].policy, found["find_map"].rule) == ("off", "The shelf is empty.")
    assert not {"find_book", "find_map"} & {*tools_of(cast, "globex")}


def test_a_local_tool_and_an_earlier_source_have_precedence(cast: Cast, sources: list[Any]) -> None:
    local = next(iter(tools_of(cast)))
    sources += [Shelf(cast.acme.pk, local, "find_book"), Shelf(cast.acme.pk, "find_book", refusal="It is lent.")]
    found = tools_of(cast)
    assert not found[local].is_remote
    assert found["find_book"].policy == "on"


def test_a_switch_can_be_set_for_a_tool_that_a_source_knows(cast: Cast, sources: list[Any]) -> None:
    assert not knows_tool_anywhere("find_book")
    sources.append(Shelf(cast.acme.pk, "find_book"))
    assert knows_tool_anywhere("find_book")
    assert knows_tool(tenant_id=cast.acme.pk, name="find_book")
    assert not knows_tool(tenant_id=cast.globex.pk, name="find_book")


def test_a_source_is_not_asked_where_a_tenant_has_none_of_its_tools(cast: Cast, sources: list[Any]) -> None:
    shelf = Shelf(cast.acme.pk, "find_book")
    sources.append(shelf)
    tools_of(cast, "globex")
    assert shelf.asked == 0

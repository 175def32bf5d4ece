"""Tools from outside this deployment: what a tenant has of them, asked of the sources that optional apps add."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Protocol

from django.db.models import Value

if TYPE_CHECKING:
    from assistant.toolkit import Tool
    from assistant.toolkit.context import UserId


@dataclass(frozen=True, slots=True)
class OutsideTool:
    """A tool of an external server; `refusal` says why it cannot be used now, and is empty if it can.

    `server` is the server's name, and `context_keys` are the parts of a call's context that it is sent.
    """

    tool: Tool
    refusal: str = ""
    is_allowed: bool = True
    server: str = ""
    context_keys: tuple[str, ...] = ()


# By the tenant's id and the tool's name.
ToolsByTenant = Mapping[int, Mapping[str, OutsideTool]]


@dataclass(frozen=True, slots=True)
class OutsideTools:
    """Outside tools: one of each name, those of each tenant, and how many names were left out.

    Tenants may have different tools of the same name; `tools` holds that of one of them.
    """

    tools: tuple[Tool, ...] = ()
    by_tenant: ToolsByTenant = field(default_factory=dict)
    left_out: int = 0


class ToolSource(Protocol):
    """Where tenants have further tools. Its functions run in threads, but for `refresh`."""

    def has_tools(self, *, tenant_id: int) -> Any:
        """Return a query expression, or a `Q`, that says whether the tenant may have any."""
        ...

    def tools_of(self, *, tenant_id: int, user_id: UserId | None) -> list[OutsideTool]:
        """Return a tenant's tools in a fixed order, with one query.

        Args:
            user_id: the member for whom it is said whether they can be used; None for pages about all members.
        """
        ...

    def most_common(
        self, *, tenants: Collection[int], limit: int, words: str, changes_things: bool, asks: bool
    ) -> OutsideTools:
        """Return those of many tenants, as the function of this name."""
        ...

    def named(self, *, tenants: Collection[int], names: Collection[str]) -> OutsideTools:
        """Return those with one of some names, as the function of this name."""
        ...

    def knows(self, name: str) -> bool:
        """Return whether any tenant has a tool of a name."""
        ...

    def keeps(self, *, tenant_id: int, names: Collection[str]) -> set[str]:
        """Return those of some names of which the tenant has a tool, also where it is off or its server is away."""
        ...

    def refresh(self, tenant_id: int) -> None:
        """Have what is known of the tenant's tools brought up to date, in the running event loop, without waiting."""
        ...


_sources: list[ToolSource] = []


def add_source(source: ToolSource) -> None:
    """Offer tenants the tools of a source too, where the switches let them."""
    _sources.append(source)


def has_tools(*, tenant_id: int) -> Any:
    """Return a query expression that says whether the tenant may have tools from outside."""
    conditions = [source.has_tools(tenant_id=tenant_id) for source in _sources]
    return reduce(or_, conditions) if conditions else Value(False)


def tools_of(*, tenant_id: int, user_id: UserId | None, taken: Collection[str] = ()) -> list[OutsideTool]:
    """Return a tenant's tools from outside in a fixed order, with one query for each source.

    Args:
        user_id: the member for whom it is said whether they can be used; None for pages about all members.
        taken: names of local tools, which have precedence: outside tools with these names are left out.
    """
    tools: list[OutsideTool] = []
    names = set(taken)
    for source in _sources:
        for entry in source.tools_of(tenant_id=tenant_id, user_id=user_id):
            if entry.tool.name not in names:
                names.add(entry.tool.name)
                tools.append(entry)
    return tools


def most_common(
    *, tenants: Collection[int], limit: int, words: str = "", changes_things: bool = False, asks: bool = False
) -> OutsideTools:
    """Return the tools from outside of these tenants, those of most tenants first; three queries for each source.

    Args:
        limit: the number of names to return of each source.
        words: a part of the name or description.
        changes_things: only those that do not say that they only read.
        asks: only those that ask before every call.
    """
    return _joined(
        source.most_common(tenants=tenants, limit=limit, words=words, changes_things=changes_things, asks=asks)
        for source in _sources
    )


def named(*, tenants: Collection[int], names: Collection[str]) -> OutsideTools:
    """Return the tools from outside of these names that the tenants have; three queries for each source."""
    return _joined(source.named(tenants=tenants, names=names) for source in _sources)


def knows(name: str) -> bool:
    """Return whether any tenant has a tool of this name from outside."""
    return any(source.knows(name) for source in _sources)


def keeps(*, tenant_id: int, names: Collection[str]) -> set[str]:
    """Return those of some names of which the tenant has a tool from outside, also one whose server is off or away."""
    return set().union(*(source.keeps(tenant_id=tenant_id, names=names) for source in _sources))


def refresh(tenant_id: int) -> None:
    """Have what is known of the tenant's tools brought up to date, in the running event loop, without waiting."""
    for source in _sources:
        source.refresh(tenant_id)


def _joined(parts: Iterable[OutsideTools]) -> OutsideTools:
    """Return what several sources have; of tools of one name the first."""
    tools: dict[str, Tool] = {}
    by_tenant: dict[int, dict[str, OutsideTool]] = {}
    left_out = 0
    for part in parts:
        left_out += part.left_out
        for tool in part.tools:
            tools.setdefault(tool.name, tool)
        for tenant, entries in part.by_tenant.items():
            by_tenant[tenant] = {**entries, **by_tenant.get(tenant, {})}
    return OutsideTools(tuple(tools.values()), by_tenant, left_out)

"""Tools that are in no catalogue and come from no other source, because extensions of runs add them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from assistant.toolkit import Tool

# Tools that are part of a run itself: the search for tools, other assistants (whose own calls are answered as these
# are), and the answer of a given type.
_OWN_MODULES = frozenset({"assistant.client.tool_search", "assistant.client.agents", "assistant.core.llm.typed_output"})


class TitlesOf(Protocol):
    """Returns the titles of those tools that any of a tenant's runs may have, by name.

    `names`: of the tools that are meant; None for all. Others may be among the result.
    """

    def __call__(self, *, tenant_id: int, names: Collection[str] | None) -> Mapping[str, str]: ...


class CallableNames(Protocol):
    """Returns the names of the tools that the runs of one assistant have now."""

    def __call__(self, *, tenant_id: int, assistant_id: int) -> Collection[str]: ...


@dataclass(frozen=True, slots=True)
class ToolsOfRuns:
    """The tools of one app. What they do is known of their own calls, which the audit has."""

    titles: TitlesOf
    callable_names: CallableNames


_added: list[ToolsOfRuns] = []


def add_tools(tools: ToolsOfRuns) -> None:
    """Have the tools known that an app's extension adds to runs: in switches of callers, titles, and after a crash."""
    _added.append(tools)


def titles_of_added(*, tenant_id: int, names: Collection[str] | None = None) -> dict[str, str]:
    """Return the titles of the tools of all apps, by name."""
    return {name: title for one in _added for name, title in one.titles(tenant_id=tenant_id, names=names).items()}


def added_callable_names(*, tenant_id: int, assistant_id: int) -> set[str]:
    """Return the names of the tools of all apps that the runs of an assistant have now."""
    return {name for one in _added for name in one.callable_names(tenant_id=tenant_id, assistant_id=assistant_id)}


def is_own(tool: Tool) -> bool:
    """Whether a tool is part of the run itself, and always runs."""
    return getattr(tool.handler, "__module__", "") in _OWN_MODULES

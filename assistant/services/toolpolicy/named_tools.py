"""Refuses names of tools in a caller's switch that can be no tool: what is misspelt there would switch nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from assistant.models import Assistant
from assistant.services.errors import Refused
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.scopes import TOOLS
from assistant.services.toolpolicy import outside_tools
from assistant.services.toolpolicy.conditions import as_offered
from assistant.services.toolpolicy.many_tools import SEARCH_TOOL
from assistant.services.toolpolicy.policy import effective_tools
from assistant.services.toolpolicy.tools_of_runs import added_callable_names, titles_of_added
from assistant.toolkit.unknown_options import meant_by

# How many names an error tells, of those given and of those that there are.
_MOST_GIVEN, _MOST_TOLD = 5, 50
_LONGEST = 64


class UnknownTools(Refused):
    """A switch names what is no tool.

    Attributes:
        option: that names them.
        names: those that are no tools, each with the tool that is meant; "" if none is alike.
    """

    def __init__(self, option: str, names: Mapping[str, str], told: Collection[str]) -> None:
        given = ", ".join(
            f"{name[:_LONGEST]!r}" + (f" (is {meant!r} meant?)" if meant else "")
            for name, meant in list(names.items())[:_MOST_GIVEN]
        )
        tools = ", ".join(list(told)[:_MOST_TOLD]) or "none"
        what = "is no tool" if len(names) == 1 else "are no tools"
        super().__init__("invalid_input", f"{option} has {given}, which {what} here. Tools: {tools}.")
        self.option = option
        self.names = names


def check_tool_names(
    option: str,
    names: Iterable[str],
    *,
    member: Member,
    assistant: Assistant,
) -> None:
    """Check that a member's switch for runs of an assistant names tools only.

    Who may list all tools, with the scope of that name, may name each of them, also those that are off for the member
    or whose server is away. All others are answered by the tools alone that they are offered, so that no name is found
    by trying: what is alike one of those is refused, and of the rest nothing is said.

    Raises:
        UnknownTools: with the tools that are meant, and those that the member is offered.
    """
    asked = {"tenant_id": member.tenant_id, "user_id": member.user_id, "assistant_id": assistant.pk}
    sees_all = TOOLS in member.scopes
    found = effective_tools(**asked)
    left = set(names) - {SEARCH_TOOL, *(entry.tool.name for entry in found if sees_all or entry.policy != "off")}
    if left:
        left -= added_callable_names(tenant_id=member.tenant_id, assistant_id=assistant.pk)
    if left and sees_all:
        left -= titles_of_added(tenant_id=member.tenant_id, names=left).keys()
        left -= outside_tools.keeps(tenant_id=member.tenant_id, names=left)
    if not left:
        return
    offered = as_offered(found, member=member, assistant_slug=assistant.slug)
    added = added_callable_names(tenant_id=member.tenant_id, assistant_id=assistant.pk)
    told = sorted({entry.tool.name for entry in offered if entry.policy != "off"} | added)
    meant = {name: meant_by(name, told) for name in sorted(left)}
    if not sees_all:
        meant = {name: other for name, other in meant.items() if other}
    if meant:
        raise UnknownTools(option, meant, told)

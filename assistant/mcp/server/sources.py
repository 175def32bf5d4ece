"""Where prompts and resources come from: the tenant's own rows, and whatever an installed app adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_types import (
    GetPromptResult,
    PromptReference,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
)
from mcp_types import Prompt as PromptDescription

from assistant.mcp.server.elicitation import Caller, InputNeeded
from assistant.services.tenancy.members import Member


class Source:
    """Prompts and resources for members; each method sees who asks, and gives nothing of other tenants.

    What it does not have it leaves as it is here. Methods run in a database thread.
    """

    def prompts(self, member: Member) -> Sequence[PromptDescription]:
        return ()

    def prompt(
        self, member: Member, name: str, arguments: Mapping[str, str], caller: Caller
    ) -> GetPromptResult | InputNeeded | None:
        """A prompt; None if there is none of that name."""
        return None

    def resources(self, member: Member) -> Sequence[Resource]:
        return ()

    def templates(self, member: Member) -> Sequence[ResourceTemplate]:
        return ()

    def read(self, member: Member, uri: str) -> ReadResourceResult | None:
        """A resource; None if there is none of that address."""
        return None

    def version(self, member: Member, uri: str) -> str:
        """Changes whenever the resource does; empty if there is none."""
        return ""

    def complete(
        self, member: Member, reference: PromptReference | ResourceTemplateReference, argument: str, begun: str
    ) -> Sequence[str]:
        """How an argument that was begun could go on."""
        return ()


ADDED: list[Source] = []


def add_source(source: Source) -> None:
    """Serve one more source; an app calls this when it is ready."""
    ADDED.append(source)

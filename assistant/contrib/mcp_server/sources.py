"""The interface of sources of prompts and resources. Installed apps can add their own."""

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

from assistant.contrib.mcp_server.elicitation import InputNeeded, McpCaller
from assistant.services.tenancy.members import Member
from assistant.toolkit.calls.worker_threads import is_async


class Source:
    """Prompts and resources for members. Subclasses override what they have.

    Each method gets the calling member, and must return nothing of other tenants. It is called in a database thread.
    """

    def prompts(self, member: Member) -> Sequence[PromptDescription]:
        return ()

    def prompt(
        self, member: Member, name: str, arguments: Mapping[str, str], caller: McpCaller
    ) -> GetPromptResult | InputNeeded | None:
        """Return a prompt, or None if there is none of that name."""
        return None

    def resources(self, member: Member) -> Sequence[Resource]:
        return ()

    def templates(self, member: Member) -> Sequence[ResourceTemplate]:
        return ()

    def read(self, member: Member, uri: str) -> ReadResourceResult | None:
        """Return a resource, or None if there is none at that URI."""
        return None

    def version(self, member: Member, uri: str) -> str:
        """Return a text that changes with the resource, empty if there is none at that URI."""
        return ""

    def complete(
        self, member: Member, reference: PromptReference | ResourceTemplateReference, argument: str, begun: str
    ) -> Sequence[str]:
        """Return values of the argument that begin with `begun`."""
        return ()


ADDED: list[Source] = []


def add_source(source: Source) -> None:
    """Add a source. Projects call this in `AppConfig.ready`.

    Raises:
        TypeError: a method is async. They are called in a database thread, where nothing can be awaited.
    """
    for name in ("prompts", "prompt", "resources", "templates", "read", "version", "complete"):
        if is_async(getattr(source, name)):
            raise TypeError(
                f"{type(source).__name__}.{name} is async, and is called in a thread, where nothing can be awaited."
            )
    ADDED.append(source)

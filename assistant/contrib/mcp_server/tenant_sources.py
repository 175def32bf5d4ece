"""The tenant's own prompts and documents, as MCP's prompts and resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import QuerySet
from mcp_types import (
    GetPromptResult,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)
from mcp_types import Prompt as PromptDescription

from assistant.contrib.mcp_server.elicitation import InputNeeded, McpCaller
from assistant.contrib.mcp_server.sources import ADDED, Source
from assistant.models import PromptVersion
from assistant.models.knowledge import Document
from assistant.services.assistants.prompt_values import PromptValues
from assistant.services.knowledge.reach import reach_of_member
from assistant.services.tenancy.members import Member

DOCUMENTS = "knowledge://documents/"
_TYPES = {Document.Kind.TEXT: "text/plain", Document.Kind.MARKDOWN: "text/markdown", Document.Kind.PDF: "text/plain"}


class PublishedPrompts(Source):
    """The published prompt of each of the tenant's active assistants, by the assistant's slug."""

    def prompts(self, member: Member) -> Sequence[PromptDescription]:
        return [
            PromptDescription(
                name=row.assistant.slug,
                title=row.assistant.name,
                description=row.assistant.description or f"The prompt of {row.assistant.name}, version {row.number}.",
            )
            for row in _published(member)
        ]

    def prompt(
        self, member: Member, name: str, arguments: Mapping[str, str], caller: McpCaller
    ) -> GetPromptResult | InputNeeded | None:
        row = _published(member).filter(assistant__slug=name).first()
        if row is None:
            return None
        return GetPromptResult(
            description=row.assistant.description or None,
            messages=[PromptMessage(role="user", content=TextContent(text=_text(row, member)))],
        )


def _text(version: PromptVersion, member: Member) -> str:
    if not version.uses_variables:
        return version.text
    return PromptValues(tenant=version.assistant.tenant, user_id=member.user_id).resolve(version.text)


def _published(member: Member) -> QuerySet[PromptVersion]:
    return PromptVersion.objects.filter(
        assistant__tenant_id=member.tenant_id, assistant__is_active=True, status=PromptVersion.Status.PUBLISHED
    ).select_related("assistant__tenant")


class KnowledgeDocuments(Source):
    """The documents of the tenant that the member may read."""

    def resources(self, member: Member) -> Sequence[Resource]:
        rows = reach_of_member(member).documents().values_list("pk", "title", "kind", "filename")
        return [
            Resource(
                uri=f"{DOCUMENTS}{pk}",
                name=title,
                title=title,
                description=filename or None,
                mime_type=_TYPES[Document.Kind(kind)],
            )
            for pk, title, kind, filename in rows
        ]

    def templates(self, member: Member) -> Sequence[ResourceTemplate]:
        return [
            ResourceTemplate(
                uri_template=f"{DOCUMENTS}{{number}}",
                name="document",
                title="Knowledge document",
                description="A document of the tenant by its number; resources/list has them all.",
            )
        ]

    def read(self, member: Member, uri: str) -> ReadResourceResult | None:
        row = _documents(member, uri).only("kind", "text").first()
        if row is None:
            return None
        kind = _TYPES[Document.Kind(row.kind)]
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=kind, text=row.text)])

    def version(self, member: Member, uri: str) -> str:
        changed = _documents(member, uri).values_list("updated_at", flat=True).first()
        return changed.isoformat() if changed else ""


def _documents(member: Member, uri: str) -> QuerySet[Document]:
    number = uri.removeprefix(DOCUMENTS)
    if not uri.startswith(DOCUMENTS) or not (number.isascii() and number.isdecimal()) or len(number) > 18:
        return Document.objects.none()
    return reach_of_member(member).documents().filter(pk=int(number))


TENANT_SOURCES = (PublishedPrompts(), KnowledgeDocuments())


def all_sources() -> tuple[Source, ...]:
    """Return the sources of the tenant's rows, and those that apps have added."""
    return (*TENANT_SOURCES, *ADDED)

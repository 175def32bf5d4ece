"""Resources and prompts that an external server publishes: listed, read and filled in, sanitised and limited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_types as types

from assistant.core.values.messages import Message
from assistant.core.values.untrusted import OUTSIDE, bounded_sources
from assistant.mcp_client.definitions import MAX_DESCRIPTION, MAX_NAME, visible
from assistant.mcp_client.resources import PromptParameter, RemotePrompt, RemoteResource
from assistant.mcp_client.results import convert_result
from assistant.toolkit import ToolResult

if TYPE_CHECKING:
    from assistant.mcp_client.session import RemoteSession

# Resources, templates of resources or prompts that are read of one listing, and its pages.
MAX_LISTED = 1_000
MAX_PAGES = 50
MAX_URI = 2_000
MAX_MESSAGES = 100


async def list_resources(session: RemoteSession) -> list[RemoteResource]:
    """Return the server's resources and then its templates, at most `MAX_LISTED` of each. Raises `RemoteFailure`."""
    if session.capabilities.resources is None:
        return []
    listed = await _pages(session, lambda client, cursor: client.list_resources(cursor=cursor), "resources")
    templates = await _pages(
        session, lambda client, cursor: client.list_resource_templates(cursor=cursor), "resource_templates"
    )
    return [*map(_resource, listed), *map(_template, templates)]


async def list_prompts(session: RemoteSession) -> list[RemotePrompt]:
    """Return the server's prompts, at most `MAX_LISTED`. Raises `RemoteFailure`."""
    if session.capabilities.prompts is None:
        return []
    listed = await _pages(session, lambda client, cursor: client.list_prompts(cursor=cursor), "prompts")
    return [_prompt(prompt) for prompt in listed]


async def read_resource(session: RemoteSession, uri: str) -> ToolResult:
    """Return a resource as a tool's result: texts in `content`, files in `media`. Raises `RemoteFailure`."""
    answer = await session.request(lambda client: client.read_resource(uri))
    blocks: list[types.ContentBlock] = [
        types.EmbeddedResource(type="resource", resource=one) for one in answer.contents
    ]
    return await asyncio.to_thread(convert_result, types.CallToolResult(content=blocks))


async def get_prompt(session: RemoteSession, name: str, arguments: Mapping[str, str]) -> list[Message]:
    """Return a prompt, filled in, as messages that are marked as text from outside. Raises `RemoteFailure`."""
    answer = await session.request(lambda client: client.get_prompt(name, dict(arguments)))
    sources = bounded_sources([session.server_name or OUTSIDE])
    messages: list[Message] = []
    for prompt in answer.messages[:MAX_MESSAGES]:
        read = await asyncio.to_thread(convert_result, types.CallToolResult(content=[prompt.content]))
        media = tuple(file for file in read.media if file.is_image) if prompt.role == "user" else ()
        messages.append(Message(prompt.role, read.content, media=media, sources=sources))
    return messages


async def _pages(session: RemoteSession, ask: Callable[..., Awaitable[Any]], field: str) -> Sequence[Any]:
    items: list[Any] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MAX_PAGES):
        answer = await session.request(partial(ask, cursor=cursor))
        items += getattr(answer, field)
        cursor = answer.next_cursor
        if cursor is None or cursor in seen or len(items) >= MAX_LISTED:
            break
        seen.add(cursor)
    return items[:MAX_LISTED]


def _resource(listed: types.Resource) -> RemoteResource:
    return RemoteResource(
        uri=visible(str(listed.uri))[:MAX_URI],
        name=visible(listed.name)[:MAX_NAME],
        title=visible(listed.title or "")[:MAX_NAME],
        description=visible(listed.description or "")[:MAX_DESCRIPTION],
        media_type=visible(listed.mime_type or "")[:MAX_NAME],
        size=listed.size,
    )


def _template(listed: types.ResourceTemplate) -> RemoteResource:
    return RemoteResource(
        uri=visible(listed.uri_template)[:MAX_URI],
        name=visible(listed.name)[:MAX_NAME],
        title=visible(listed.title or "")[:MAX_NAME],
        description=visible(listed.description or "")[:MAX_DESCRIPTION],
        media_type=visible(listed.mime_type or "")[:MAX_NAME],
        is_template=True,
    )


def _prompt(listed: types.Prompt) -> RemotePrompt:
    return RemotePrompt(
        name=visible(listed.name)[:MAX_NAME],
        title=visible(listed.title or "")[:MAX_NAME],
        description=visible(listed.description or "")[:MAX_DESCRIPTION],
        parameters=tuple(
            PromptParameter(
                visible(one.name)[:MAX_NAME], visible(one.description or "")[:MAX_DESCRIPTION], bool(one.required)
            )
            for one in listed.arguments or ()
        ),
    )

"""`prompts/...`, `resources/...` and `completion/complete`, answered from all sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from assistant.contrib.mcp_server.caller import Context, member_of
from assistant.contrib.mcp_server.elicitation import CannotAsk, InputNeeded, McpCaller, run_with_input
from assistant.contrib.mcp_server.paging import page
from assistant.contrib.mcp_server.sources import Source
from assistant.contrib.mcp_server.tenant_sources import all_sources
from assistant.services.db.threads import in_database

# The error code for a missing resource before 2026-07-28.
RESOURCE_NOT_FOUND = -32002
MAX_COMPLETIONS = 100

T = TypeVar("T")


async def list_prompts(context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
    member = member_of(context)
    found, cursor = page(await _all(lambda source: source.prompts(member)), params, lambda prompt: prompt.name)
    return ListPromptsResult(prompts=found, next_cursor=cursor)


async def get_prompt(context: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
    """Return a prompt by its name. Raises `MCPError` if the member has no such prompt."""
    member = member_of(context)

    async def step(caller: McpCaller) -> GetPromptResult | InputNeeded:
        made: GetPromptResult | InputNeeded | None = await _first(
            lambda source: source.prompt(member, params.name, params.arguments or {}, caller)
        )
        if made is None:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {params.name}")
        return made

    try:
        return await run_with_input(context, step, answers=params.input_responses, state=params.request_state)
    except CannotAsk as exc:
        raise MCPError(INVALID_PARAMS, str(exc)) from exc


async def list_resources(context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
    member = member_of(context)
    found, cursor = page(await _all(lambda source: source.resources(member)), params, lambda resource: resource.uri)
    return ListResourcesResult(resources=found, next_cursor=cursor)


async def list_templates(context: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    member = member_of(context)
    every = await _all(lambda source: source.templates(member))
    found, cursor = page(every, params, lambda template: template.uri_template)
    return ListResourceTemplatesResult(resource_templates=found, next_cursor=cursor)


async def read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Return a resource by its URI. Raises `MCPError` if the member has no such resource."""
    member, uri = member_of(context), str(params.uri)
    found = await _first(lambda source: source.read(member, uri))
    if found is None:
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        raise MCPError(INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri})
    return found


async def complete(context: Context, params: CompleteRequestParams) -> CompleteResult:
    """Return completions of an argument of a prompt or resource template."""
    member, argument = member_of(context), params.argument
    found = await _all(lambda source: source.complete(member, params.ref, argument.name, argument.value))
    return CompleteResult(
        completion=Completion(values=found[:MAX_COMPLETIONS], total=len(found), has_more=len(found) > MAX_COMPLETIONS)
    )


async def _all(part: Callable[[Source], Sequence[T]]) -> list[T]:
    return await in_database(lambda: list(chain.from_iterable(map(part, all_sources()))))


async def _first(part: Callable[[Source], T | None]) -> T | None:
    return await in_database(lambda: next((found for found in map(part, all_sources()) if found is not None), None))

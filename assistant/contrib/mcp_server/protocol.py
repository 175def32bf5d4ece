"""Builds the MCP server: the SDK's low-level server with a handler for each method."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp_types import (
    CancelledNotificationParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from mcp_types.methods import CACHEABLE_METHODS

from assistant.contrib.mcp_server import calls, cancellation, change_streams, prompts_and_resources, sessions
from assistant.contrib.mcp_server.caller import member_of, principal
from assistant.services.toolpolicy import catalogue

NAME = "tenant-assistant"
VERSION = "1.0"
INSTRUCTIONS = (
    "The tools, prompts and documents of one organisation, as its member may use them. "
    "Whose they are follows from the key alone; no argument chooses it."
)
# How long clients may cache a list. Clients that listen are also notified of changes.
LIST_MILLISECONDS = 5_000
# How long a question to the client waits for its answer.
QUESTION_SECONDS = 600.0


class TenantServer(Server[dict[str, Any]]):
    """A server that declares change notifications to older clients too."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        announced = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(announced, experimental_capabilities, extensions)


def build_server(*, with_sessions: bool) -> TenantServer:
    """Build the server for all tenants; each request carries its own member.

    Args:
        with_sessions: give clients older than 2026-07-28 a session, on which they can be asked for input and can set
            their log level.
    """
    private: dict[Any, CacheHint] = {
        method: CacheHint(ttl_ms=LIST_MILLISECONDS, scope="private") for method in CACHEABLE_METHODS
    }
    server = TenantServer(
        NAME,
        version=VERSION,
        title="Tenant Assistant",
        instructions=INSTRUCTIONS,
        cache_hints=private,
        get_tool_input_schema=_schema_of,
        on_list_tools=calls.list_tools,
        on_call_tool=calls.call,
        on_list_prompts=prompts_and_resources.list_prompts,
        on_get_prompt=prompts_and_resources.get_prompt,
        on_list_resources=prompts_and_resources.list_resources,
        on_list_resource_templates=prompts_and_resources.list_templates,
        on_read_resource=prompts_and_resources.read_resource,
        on_completion=prompts_and_resources.complete,
        on_subscriptions_listen=change_streams.listen,
    )
    if with_sessions:
        server.add_request_handler("logging/setLevel", SetLevelRequestParams, sessions.set_level)
        server.add_request_handler("resources/subscribe", SubscribeRequestParams, sessions.watch)
        server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, sessions.unwatch)
    else:
        server.add_notification_handler("notifications/cancelled", CancelledNotificationParams, cancellation.cancel)
    # State that clients send back is encrypted, and only valid with the API key that received it.
    security = RequestStateSecurity(
        keys=settings.ASSISTANT_FIELD_ENCRYPTION_KEYS,
        ttl=QUESTION_SECONDS,
        bind_principal=lambda context: principal(member_of(context)),
    )
    server.middleware.append(RequestStateBoundary(security, default_audience=NAME))
    return server


def _schema_of(name: str) -> dict[str, Any] | None:
    """Return a tool's schema, in which the SDK finds the arguments that are repeated in headers (`x-mcp-header`)."""
    registry = catalogue.registry()
    return registry.get(name).parameters if name in registry else None

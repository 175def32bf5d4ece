"""Tools of external MCP servers as `Tool` values, independent of tenants, the database and Django."""

from assistant.mcp_client.connecting import connect
from assistant.mcp_client.definitions import Listing, OnTools, ToolDefinition
from assistant.mcp_client.endpoint import Command, Endpoint, OAuthClient
from assistant.mcp_client.errors import RemoteFailure
from assistant.mcp_client.handlers import Handlers, LogLevel, SamplingRequest, ServerLog
from assistant.mcp_client.pool import SessionPool
from assistant.mcp_client.questions import CallQuestions
from assistant.mcp_client.remote_tool import remote_tool
from assistant.mcp_client.resources import PromptParameter, RemotePrompt, RemoteResource
from assistant.toolkit.unknown_options import list_options_of

__all__ = [
    "CallQuestions",
    "Command",
    "Endpoint",
    "Handlers",
    "Listing",
    "LogLevel",
    "OAuthClient",
    "OnTools",
    "PromptParameter",
    "RemoteFailure",
    "RemotePrompt",
    "RemoteResource",
    "SamplingRequest",
    "ServerLog",
    "SessionPool",
    "ToolDefinition",
    "connect",
    "remote_tool",
]

list_options_of(__name__)

"""Chat with tools from a program, without a database: `ChatClient`, and the types of its arguments and results.

These are the public names of the core. Import them from here; the modules behind them may move.
"""

from assistant.client.agents import Agent
from assistant.client.bound_model import BoundModel
from assistant.client.chat_client import ChatClient
from assistant.client.emulated_tools import EmulatedTools
from assistant.client.mcp_contents import McpContents
from assistant.client.mcp_servers import McpServer, Progress, RemoteToolError
from assistant.client.prompt_log import PromptLog
from assistant.client.prompts import PromptTemplate, PromptVariables
from assistant.client.redact_prompts import RedactPrompts
from assistant.client.reply import CalledTool, ChatReply, RunFailed
from assistant.client.result_cache import Cache
from assistant.client.safeguard_words import SafeguardWords
from assistant.client.sent_requests import SentRequest
from assistant.client.sessions import EventStore, InMemoryStore, Session, SessionEvent
from assistant.client.stores import ConversationKey, ConversationStore
from assistant.client.tool_interceptors import Redact, log_calls
from assistant.client.tool_search import find_tools
from assistant.client.turns import ReplyStream
from assistant.core.conversation.turn_endings import GuardrailTripped
from assistant.core.extensions.extension import Extension, ExtensionRun, InvalidExtension
from assistant.core.extensions.interceptors import Invocation
from assistant.core.llm.protocol import FailureDetails, schema_tokens
from assistant.core.toolcalls.protocols import Admission, Decision, FixedToolset, PlannedCall, ToolOutcome, replayed
from assistant.core.values.limits import Limits
from assistant.core.values.messages import Message, ToolCall
from assistant.core.values.settings import AssistantSettings
from assistant.mcp_client import (
    RemoteFailure,
    RemotePrompt,
    RemoteResource,
    SamplingRequest,
    ServerLog,
    ToolDefinition,
)
from assistant.toolkit.unknown_options import list_options_of

__all__ = [
    "Admission",
    "Agent",
    "AssistantSettings",
    "BoundModel",
    "Cache",
    "CalledTool",
    "ChatClient",
    "ChatReply",
    "ConversationKey",
    "ConversationStore",
    "Decision",
    "EmulatedTools",
    "EventStore",
    "Extension",
    "ExtensionRun",
    "FailureDetails",
    "FixedToolset",
    "GuardrailTripped",
    "InMemoryStore",
    "InvalidExtension",
    "Invocation",
    "Limits",
    "McpContents",
    "McpServer",
    "Message",
    "PlannedCall",
    "Progress",
    "PromptLog",
    "PromptTemplate",
    "PromptVariables",
    "Redact",
    "RedactPrompts",
    "RemoteFailure",
    "RemotePrompt",
    "RemoteResource",
    "RemoteToolError",
    "ReplyStream",
    "RunFailed",
    "SafeguardWords",
    "SamplingRequest",
    "SentRequest",
    "ServerLog",
    "Session",
    "SessionEvent",
    "ToolCall",
    "ToolDefinition",
    "ToolOutcome",
    "find_tools",
    "log_calls",
    "replayed",
    "schema_tokens",
]

list_options_of(__name__)

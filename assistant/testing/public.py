"""The public names of `assistant.testing`."""

from assistant.core.values.messages import ToolCall
from assistant.providers import ScriptedModel
from assistant.testing.asgi_client import NotAdmitted
from assistant.testing.cases import AssistantTestMixin
from assistant.testing.cassette_file import CassetteError
from assistant.testing.cassettes import Cassette
from assistant.testing.chat import Answer, ChatTester
from assistant.testing.database import share_connections
from assistant.testing.guest import GuestTestMixin
from assistant.testing.models import answer_with
from assistant.testing.tools import ToolTester, tool_context
from assistant.toolkit.unknown_options import list_options_of

__all__ = [
    "Answer",
    "AssistantTestMixin",
    "Cassette",
    "CassetteError",
    "ChatTester",
    "GuestTestMixin",
    "NotAdmitted",
    "ScriptedModel",
    "ToolCall",
    "ToolTester",
    "answer_with",
    "share_connections",
    "tool_context",
]

list_options_of(__name__)

"""Tools that a language model can call, with a context that it never sees."""

from assistant.toolkit.calls.call import ToolResult, convert, register_converter
from assistant.toolkit.carriers import carry, register_carrier
from assistant.toolkit.context import TenantInfo, ToolContext, UserInfo, current_context
from assistant.toolkit.definition.docstrings import describe_by_name
from assistant.toolkit.definition.examples import Example, ExampleStep
from assistant.toolkit.definition.questions import Change, Question
from assistant.toolkit.definition.tool import Tool, tool, tools_of
from assistant.toolkit.errors import (
    ForeignRow,
    InvalidArguments,
    InvalidTool,
    MissingSecret,
    ToolError,
    ToolsError,
    UnknownTool,
)
from assistant.toolkit.media import Media
from assistant.toolkit.registry import Registry
from assistant.toolkit.schema.parameters import Param, suspicious_parameters
from assistant.toolkit.unknown_options import list_options_of
from assistant.toolkit.waiting import Callback, Pending

__all__ = [
    "Callback",
    "Change",
    "Example",
    "ExampleStep",
    "ForeignRow",
    "InvalidArguments",
    "InvalidTool",
    "Media",
    "MissingSecret",
    "Param",
    "Pending",
    "Question",
    "Registry",
    "TenantInfo",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "ToolsError",
    "UnknownTool",
    "UserInfo",
    "carry",
    "convert",
    "current_context",
    "describe_by_name",
    "register_carrier",
    "register_converter",
    "suspicious_parameters",
    "tool",
    "tools_of",
]

list_options_of(__name__)

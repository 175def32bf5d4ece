"""Tools that a language model can have called, with a context that it never sees."""

from tools.context import TenantInfo, ToolContext, UserInfo, current_context
from tools.decorating import tool, tools_of
from tools.definition import Tool
from tools.errors import (
    ForeignRow,
    InvalidArguments,
    InvalidTool,
    MissingSecret,
    ToolError,
    ToolsError,
    UnknownTool,
)
from tools.examples import Example, ExampleStep
from tools.media import Media
from tools.registry import Registry
from tools.results import ToolResult
from tools.schema import Param

__all__ = [
    "Example",
    "ExampleStep",
    "ForeignRow",
    "InvalidArguments",
    "InvalidTool",
    "Media",
    "MissingSecret",
    "Param",
    "Registry",
    "TenantInfo",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "ToolsError",
    "UnknownTool",
    "UserInfo",
    "current_context",
    "tool",
    "tools_of",
]

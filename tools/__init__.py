"""This deployment's own tools; in a fresh checkout, those of the demo shop. Add yours as a module of this package.

All modules of this package are searched for tools when the server starts. The names that tools need most are imported
here; `assistant.toolkit` has the rest.
"""

from assistant.toolkit import Param, ToolContext, ToolError, tool

__all__ = ["Param", "ToolContext", "ToolError", "tool"]

"""This deployment's own tools: here those of the demo's shop. Add yours as a file of this package.

Every module of this package is searched for tools when the server starts. `assistant.toolkit` says what a tool can be;
the names used most are repeated here.
"""

from assistant.toolkit import Param, ToolContext, ToolError, tool

__all__ = ["Param", "ToolContext", "ToolError", "tool"]

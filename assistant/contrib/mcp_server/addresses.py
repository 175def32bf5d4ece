"""The addresses of the MCP server."""

from __future__ import annotations

PATH = "/mcp/"
# Of RFC 9728: it says which resource a key is for.
METADATA = "/.well-known/oauth-protected-resource"


def is_mcp(path: str) -> bool:
    """Return whether the MCP server answers a path instead of the site."""
    return path in {PATH, PATH.rstrip("/")} or path.removeprefix(METADATA) in {"", PATH, PATH.rstrip("/")}

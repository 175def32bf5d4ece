"""The addresses of the MCP server, below the mount of `assistant.urls`."""

from __future__ import annotations

PATH = "mcp/"
# Of RFC 9728: it says which resource a key is for.
METADATA_PATH = ".well-known/oauth-protected-resource"
# Names of the URL patterns.
MCP = "mcp"
METADATA = "mcp-metadata"


def mount_of(path: str) -> str:
    """Return the mount above one of the addresses, such as `/assistant/`."""
    return path.partition(METADATA_PATH)[0] if METADATA_PATH in path else path.rstrip("/").removesuffix("mcp")

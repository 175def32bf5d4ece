"""Fixtures of the MCP server's tests, which they share with those of outside servers."""

from tests.mcp.conftest import (  # noqa: F401 - pytest finds fixtures by their names here
    _patience,
    alice_key,
    mallory_key,
    outside_process,
    outsider,
    served,
    uvicorn_served,
    with_sessions,
)
from tests.mcp.questions.conftest import asking, asking_process, site  # noqa: F401

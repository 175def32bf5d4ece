"""Fixtures of the tests of external servers, which they share with those of the client alone."""

from tests.mcp.conftest import (  # noqa: F401 - pytest finds fixtures by their names here
    _patience,
    alice_key,
    mallory_key,
    outside_process,
    outsider,
    uvicorn_served,
)
from tests.mcp.questions.conftest import asking, asking_process, site  # noqa: F401

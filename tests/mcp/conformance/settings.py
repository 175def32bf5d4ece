"""The tests' settings with the conformance suite's fixtures installed, and sessions for older clients."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.mcp.conformance.fixtures"]
ASSISTANT_MCP_SESSIONS = True

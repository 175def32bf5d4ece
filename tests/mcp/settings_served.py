"""The tests' settings with tools that show what a caller over MCP gets."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.mcp.served"]

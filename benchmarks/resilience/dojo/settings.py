"""The benchmark's settings with AgentDojo's tools alone."""

from __future__ import annotations

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

ASSISTANT_LIBRARY = ["none"]
INSTALLED_APPS = [*(name for name in INSTALLED_APPS if name != "tools"), "benchmarks.resilience.dojo"]

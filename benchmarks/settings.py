"""The settings of the deployment, and the tools of `benchmarks.catalogue`."""

from __future__ import annotations

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks.catalogue"]

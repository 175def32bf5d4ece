"""The deployment's own settings and six tools more, so that an assistant has twenty; all that differs is said here."""

from __future__ import annotations

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks.catalogue"]

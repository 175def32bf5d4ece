"""The settings of the deployment, and the tools of `benchmarks.catalogue`."""

from __future__ import annotations

import os

from assistant.toolkit.fast_paths import TESTED_VERSIONS
from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks.catalogue"]
# Most conversations here have one question, so that a title would be half of all requests.
ASSISTANT_GENERATED_TITLES = False
# Set by the rows of `fast_paths`: a fast path without a tested version is not used.
if without := os.environ.get("WITHOUT_FAST_PATH"):
    TESTED_VERSIONS[without] = (TESTED_VERSIONS[without][0], frozenset())

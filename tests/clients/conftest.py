"""Runs of these tests are recorded too, so that there is something to verify where nothing was recorded before."""

from __future__ import annotations

import os
import tempfile

# The servers inherit it; the suite's other runs are there already if the variable is.
os.environ.setdefault("RECORD_RUNS", tempfile.mkdtemp(prefix="tenant-assistant-runs-"))

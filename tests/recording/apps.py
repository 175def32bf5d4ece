"""An app of the test suite's settings, so that servers in processes of their own record too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import wraps
from pathlib import Path

from django.apps import AppConfig

from assistant.services.eventlog.log import Entry, ThreadLog


class RecordingConfig(AppConfig):
    name = "tests.recording"

    def ready(self) -> None:
        """Observe what comes into threads' logs: it is what every reader of this process sees, in its order."""
        if hasattr(ThreadLog.append, "__wrapped__"):
            return  # a test that installs another app has everybody get ready again
        folder = Path(os.environ["RECORD_RUNS"])
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / f"{os.getpid()}.jsonl").open("a", buffering=1)
        append = ThreadLog.append

        @wraps(append)
        def observed(self: ThreadLog, entries: Sequence[Entry]) -> None:
            before = self.last
            append(self, entries)
            for entry in entries:
                if before is None or entry.position > before:
                    # Clients choose the ids of runs: two of a process may have the same ones at the same time.
                    file.write(f"{id(self)}.{entry.number} {entry.frame}\n")

        ThreadLog.append = observed  # type: ignore[method-assign]

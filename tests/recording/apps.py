"""An app of the test suite's settings, so that servers in processes of their own record too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import wraps
from itertools import count
from pathlib import Path
from weakref import WeakKeyDictionary

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
        append, numbers, fresh = ThreadLog.append, WeakKeyDictionary[ThreadLog, int](), count()

        def number_of(log: ThreadLog) -> int:
            return numbers[log] if log in numbers else numbers.setdefault(log, next(fresh))

        @wraps(append)
        def observed(self: ThreadLog, entries: Sequence[Entry]) -> None:
            before = self.last
            append(self, entries)
            for entry in entries:
                if before is None or entry.position > before:
                    # Clients choose the ids of runs, and forked servers write to the file of their template: runs with
                    # the same ids may be in progress at the same time.
                    file.write(f"{os.getpid()}.{number_of(self)}.{entry.number} {entry.frame}\n")

        ThreadLog.append = observed  # type: ignore[method-assign]

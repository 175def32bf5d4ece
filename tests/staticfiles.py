"""Static files for the test suite: looked for once in a process, not once for each of Django's test clients."""

from __future__ import annotations

from typing import Any

from config.staticfiles import StaticFilesMiddleware

_found: dict[str, dict[str, Any]] = {}


class StaticFilesScannedOnce(StaticFilesMiddleware):
    """The deployment's middleware. Every test client makes one of its own, and files do not change between tests."""

    files: dict[str, Any]

    def add_files_from_finders(self) -> None:
        collected, self.files = self.files, {}
        if self.static_prefix not in _found:
            super().add_files_from_finders()
            _found[self.static_prefix] = self.files
        # As in the base class, what the finders find takes precedence.
        self.files = {**collected, **_found[self.static_prefix]}

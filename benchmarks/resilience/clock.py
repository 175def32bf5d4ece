"""Programs whose clock is wrong, or jumps while they run, by libfaketime."""

from __future__ import annotations

from pathlib import Path

from benchmarks.resilience.services import Missing

_LIBRARY = "libfaketimeMT.so.1"
_PLACES = ("/usr/lib/*/faketime", "/usr/lib64/faketime", "/usr/local/lib/faketime")


class FakeClock:
    """A wall clock that differs from the real one by seconds that can be changed. Monotonic time stays real."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.set(0)

    @property
    def env(self) -> dict[str, str]:
        """The environment of the programs that read this clock. Raises `Missing`."""
        return {
            "LD_PRELOAD": str(library()),
            "FAKETIME_TIMESTAMP_FILE": str(self._path),
            "FAKETIME_CACHE_DURATION": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, seconds: float) -> None:
        """Let the clock differ by so many seconds."""
        written = self._path.with_suffix(".new")
        written.write_text(f"{seconds:+.0f}s\n")
        written.chmod(0o644)
        # In one step: programs read the file every second.
        written.replace(self._path)


def library() -> Path:
    """Return the path of libfaketime. Raises `Missing`."""
    for place in _PLACES:
        root, _, pattern = place.partition("*")
        folder = Path(root)
        found = sorted(folder.glob(f"*{pattern}/{_LIBRARY}")) if pattern else [folder / _LIBRARY]
        if existing := next((path for path in found if path.exists()), None):
            return existing
    raise Missing("libfaketime is not installed. On Debian or Ubuntu: apt-get install faketime")

"""Shows how far the download of the embedded model is."""

from __future__ import annotations

import time
from typing import Any, Protocol

_BAR = 40
_REDRAW_SECONDS = 0.2


class Terminal(Protocol):
    """What a command of Django's writes to: its `stdout`, which ends each text with `ending`."""

    def write(self, msg: str = "", style_func: Any = None, ending: str | None = None) -> None: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


class ProgressBar:
    """Shows progress: as a bar on a terminal, elsewhere as a line for every 10 %."""

    def __init__(self, out: Terminal) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._drawn_at = 0.0
        self._said = 0

    def message(self, sentence: str) -> None:
        self._out.write(sentence)
        self._out.flush()

    def progress(self, done: int, total: int) -> None:
        share = done / total
        if self._is_terminal:
            now = time.monotonic()
            if now - self._drawn_at >= _REDRAW_SECONDS or done == total:
                self._drawn_at = now
                bar = "#" * round(share * _BAR)
                end = "\n" if done == total else ""
                self._out.write(f"\r  [{bar:.<{_BAR}}] {share:4.0%} {done / 1e6:,.0f} MB", ending=end)
                self._out.flush()
        elif int(share * 10) > self._said:
            self._said = int(share * 10)
            self.message(f"  {share:.0%} of {total / 1e6:,.0f} MB")
        if done == total:
            self._said = 0

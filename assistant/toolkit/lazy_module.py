"""Modules that take long to import: no start waits for them, nor does the event loop."""

from __future__ import annotations

import asyncio
import importlib
import threading
from types import ModuleType

# Packages whose modules import each other in a circle fail half-way if two threads begin at two ends of it.
_import_lock = threading.Lock()


class LazyModule:
    """A module that is imported when it is first needed.

    Args:
        name: its dotted name.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    async def get(self) -> ModuleType:
        """The module; the first time it is imported in a thread."""
        if self._module is None:
            return await asyncio.to_thread(self.load)
        return self._module

    def load(self) -> ModuleType:
        """Import it, so that nobody need wait for it later."""
        with _import_lock:
            self._module = importlib.import_module(self._name)
        return self._module

"""Lazy imports of slow modules, off the event loop."""

from __future__ import annotations

import asyncio
import importlib
import threading
from importlib.machinery import PathFinder
from importlib.util import find_spec
from types import ModuleType

# Packages with circular imports can fail if two threads import different modules of them at the same time.
_import_lock = threading.Lock()


def is_there(name: str) -> bool:
    """Return whether there is a module of a dotted name, without importing it or a package that it is part of.

    Several distributions may share a package, which can be there without the module.
    """
    package, *parts = name.split(".")
    found = find_spec(package)
    for part in parts:
        if found is None or found.submodule_search_locations is None:
            return False
        package = f"{package}.{part}"
        found = PathFinder.find_spec(package, list(found.submodule_search_locations))
    return found is not None


class LazyModule:
    """A module that is imported at its first use.

    Args:
        name: its dotted name.

    Attributes:
        module: the module, once it is imported.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.module: ModuleType | None = None

    async def get(self) -> ModuleType:
        """Return the module, imported in a thread if it is not loaded yet."""
        if self.module is None:
            return await asyncio.to_thread(self.load)
        return self.module

    def load(self) -> ModuleType:
        """Import and return the module; at start-up this avoids the delay of the first use."""
        with _import_lock:
            self.module = importlib.import_module(self._name)
        return self.module

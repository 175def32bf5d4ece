"""Plants the fault that the environment names, `PLANTED=module:function`. Also a pytest plugin."""

from __future__ import annotations

import importlib
import os


def plant() -> None:
    """Plant the fault, if there is one. Django must be set up."""
    if named := os.environ.get("PLANTED"):
        module, _, function = named.partition(":")
        getattr(importlib.import_module(module), function)()


def pytest_sessionstart() -> None:
    """Plant the fault before the tests are imported."""
    plant()

"""Breaks one thing on purpose, which the environment names: `PLANTED=module:function`. A plugin of pytest's too."""

from __future__ import annotations

import importlib
import os


def plant() -> None:
    """Break it, if there is something to break; Django has to be set up."""
    if named := os.environ.get("PLANTED"):
        module, _, function = named.partition(":")
        getattr(importlib.import_module(module), function)()


def pytest_sessionstart() -> None:
    """Before tests are imported, so that they import what is broken."""
    plant()

"""The deployment's tools: those that the installed apps bring, and the shipped library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.apps import apps
from django.db import connections, transaction

from tools import Registry
from tools.execution import set_atomic, set_thread_cleanup
from tools.registry import discover

_registry: Registry | None = None


def discover_installed() -> None:
    """Collect the tools of every installed app; two of one name raise `InvalidTool` and stop the start."""
    global _registry  # noqa: PLW0603 - the process's one catalogue, made once at start-up
    modules = [f"{config.name}.tools" for config in apps.get_app_configs() if config.name != "tools"]
    _registry = Registry(discover([*modules, "tools.library"]))
    # A tool's thread keeps no connection after its call: the pool is large, and a restart would break idle ones.
    set_thread_cleanup(connections.close_all)
    set_atomic(transaction.atomic)


def registry() -> Registry:
    """The catalogue. Raises `LookupError` before the apps are ready."""
    if _registry is None:
        raise LookupError("the tools are discovered when Django's apps are ready")
    return _registry


@contextmanager
def using(tools: Registry) -> Iterator[None]:
    """Make `tools` the catalogue within the block, for those who try their tools in tests."""
    global _registry  # noqa: PLW0603 - see above
    before, _registry = _registry, tools
    try:
        yield
    finally:
        _registry = before

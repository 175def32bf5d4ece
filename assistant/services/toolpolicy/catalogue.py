"""The catalogue: the tools of the installed apps, and those of the shipped library that ASSISTANT_LIBRARY names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from django.apps import apps
from django.conf import settings
from django.db import connections, transaction

from assistant import optional_apps
from assistant.toolkit import Registry, Tool
from assistant.toolkit.calls.worker_threads import set_atomic, set_thread_cleanup
from assistant.toolkit.registry import discover, tools_in

# The families of the core's library: each is a module of `assistant.library`.
_CORE_FAMILIES = ("knowledge", "web_search")
ALL, NONE = "all", "none"

_registry: Registry | None = None
# What returns tools that can be known only when Django has read the project's addresses.
_late: list[Callable[[], Iterable[Tool]]] = []


def discover_installed() -> None:
    """Collect the tools of every installed app and of the library.

    An app's tools are in its module or package `tools`, or where its `AppConfig.tool_modules` says; and in its module
    `assistant`, in which projects describe tenants and expose models, if that is imported by now.

    Raises:
        InvalidTool: two tools have the same name, or a tool is not valid.
    """
    global _registry  # noqa: PLW0603 - one catalogue for the process, built at start-up
    configs = apps.get_app_configs()
    tools = discover(getattr(config, "tool_modules", f"{config.name}.tools") for config in configs)
    beside = [sys.modules[name] for config in configs if (name := f"{config.name}.assistant") in sys.modules]
    tools += [tool for module in beside for tool in tools_in(module) if tool not in tools]
    _registry = Registry([*tools, *library_tools(settings.ASSISTANT_LIBRARY)])
    # Tool threads close their connections after each call, because the pool is large and idle connections break when
    # the database restarts.
    set_thread_cleanup(connections.close_all)
    set_atomic(transaction.atomic)


def library_tools(chosen: Iterable[str]) -> list[Tool]:
    """Return the library's tools that `ASSISTANT_LIBRARY` names, by family or one by one.

    Unknown names are ignored; `unknown_library_names` returns them.
    """
    names = set(chosen)
    modules = _modules()
    tools = discover(module for family, module in modules.items() if family in names or ALL in names)
    if names - {*modules, ALL, NONE}:
        tools += [tool for tool in _all_library_tools() if tool.name in names and tool not in tools]
    return tools


def unknown_library_names(chosen: Iterable[str]) -> list[str]:
    """Return the names in `ASSISTANT_LIBRARY` that are neither a family nor a tool of the library."""
    names = set(chosen) - {*_modules(), ALL, NONE}
    return sorted(names - {tool.name for tool in _all_library_tools()}) if names else []


def is_family_on(family: str) -> bool:
    """Return whether `ASSISTANT_LIBRARY` names a family of the library, or a tool of it."""
    chosen = set(settings.ASSISTANT_LIBRARY)
    modules = _modules()
    if chosen & {family, ALL}:
        return True
    # The family's module is imported only if single tools are named.
    tools = discover([modules[family]]) if chosen - {*modules, NONE} else []
    return any(tool.name in chosen for tool in tools)


def library_families() -> tuple[str, ...]:
    """Return the families of the library here, those of installed optional apps too."""
    return tuple(_modules())


def _modules() -> dict[str, str]:
    """Return the modules of the library by family, in alphabetical order."""
    modules = {family: f"assistant.library.{family}" for family in _CORE_FAMILIES}
    return dict(sorted((modules | optional_apps.library_modules()).items()))


def _all_library_tools() -> list[Tool]:
    return discover(_modules().values())


def registry() -> Registry:
    """Return the catalogue. Raises `LookupError` before the apps are ready."""
    if _registry is None:
        raise LookupError("the tools are discovered when Django's apps are ready")
    if _late and apps.ready:
        while _late:
            replace_tools((), _late.pop(0)())
    return _registry


def add_later(tools: Callable[[], Iterable[Tool]]) -> None:
    """Add the tools of a function, which is called when the catalogue is first used after the start."""
    _late.append(tools)


def replace_tools(names: Collection[str], tools: Iterable[Tool]) -> None:
    """Put tools in the place of those of some names, for an app whose tools change while the process runs.

    Raises:
        InvalidTool: a name is that of another tool.
    """
    global _registry  # noqa: PLW0603 - see above
    added = list(tools)
    kept = [tool for tool in registry() if tool.name not in names]
    _registry = Registry([*kept, *added])


@contextmanager
def using(tools: Registry) -> Iterator[None]:
    """Make `tools` the catalogue within a block, for tests of tools."""
    global _registry  # noqa: PLW0603 - see above
    previous = registry()
    _registry = tools
    try:
        yield
    finally:
        _registry = previous

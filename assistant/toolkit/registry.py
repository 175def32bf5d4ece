"""Collections of tools by name, and their discovery in Python modules."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterable, Iterator
from types import ModuleType

from assistant.toolkit.definition.tool import Tool
from assistant.toolkit.errors import InvalidTool, UnknownTool

# Not searched: Django imports these modules itself, and tests need what is not installed where a site is served.
_NOT_TOOLS = re.compile(r"__main__|admin|apps|management|migrations|models|conftest|tests|test_\w+")


class Registry:
    """Tools by name, in the order they were added.

    Attributes:
        by_name: the same as a dict, to read.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self.by_name: dict[str, Tool] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> None:
        """Add a tool. Raises `InvalidTool` if the name is taken."""
        if not isinstance(tool, Tool):
            raise InvalidTool(f"{tool!r} is not a tool: decorate it with @tool, or use Tool.from_function().")
        if tool.name in self.by_name:
            locations = " and ".join(_location(one) for one in (self.by_name[tool.name], tool))
            raise InvalidTool(f"There are two tools named {tool.name!r}: {locations}.")
        self.by_name[tool.name] = tool

    def get(self, name: str) -> Tool:
        """Return a tool by name. Raises `UnknownTool`, which lists the known names."""
        try:
            return self.by_name[name]
        except KeyError:
            raise UnknownTool(name, self.by_name) from None

    def only(self, names: Iterable[str]) -> Registry:
        """Return a registry of these tools, in this order. Raises `UnknownTool`."""
        return Registry(self.get(name) for name in names)

    @classmethod
    def discover(cls, *packages: str) -> Registry:
        """Return the tools of these modules and, for packages, of the modules in them; tests are left out.

        Tools are found at a module's top level, in its lists and tuples too, such as the result of `tools_of`.

        Args:
            packages: names to import, such as "myshop.tools".

        Raises:
            InvalidTool: two tools have one name.
            ModuleNotFoundError: there is no such module; other errors of importing one are raised too.
        """
        for package in packages:
            importlib.import_module(package)
        return cls(discover(packages))

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.by_name.values())

    def __len__(self) -> int:
        return len(self.by_name)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name


def discover(module_names: Iterable[str]) -> list[Tool]:
    """Return the tools at the top level of these modules and, for packages, of the modules in them.

    Includes tools in top-level lists and tuples, such as the result of `tools_of`. Tests and modules that do not exist
    are skipped; errors while importing one are raised.
    """
    found: dict[int, Tool] = {}
    for name in module_names:
        for module in _modules(name):
            found.update((id(tool), tool) for tool in tools_in(module))
    return list(found.values())


def tools_in(module: ModuleType) -> list[Tool]:
    """Return the tools at a module's top level, those in its lists and tuples among them; each once."""
    found: dict[int, Tool] = {}
    for value in vars(module).values():
        candidates = value if isinstance(value, list | tuple) else (value,)
        found.update((id(candidate), candidate) for candidate in candidates if isinstance(candidate, Tool))
    return list(found.values())


def _modules(name: str) -> Iterator[ModuleType]:
    if not _exists(name):
        return
    module = importlib.import_module(name)
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not _NOT_TOOLS.fullmatch(info.name):
            yield from _modules(f"{name}.{info.name}")


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as exc:
        # The module's parent does not exist or is not a package. Any other failed import is an error.
        if exc.name is not None and (name == exc.name or name.startswith(f"{exc.name}.")):
            return False
        raise


def _location(tool: Tool) -> str:
    handler = tool.handler
    return f"{getattr(handler, '__module__', '?')}.{getattr(handler, '__qualname__', tool.name)}"

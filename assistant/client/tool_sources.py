"""The tools of a client's calls: functions, names, objects and collections of tools, and MCP servers among them."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from assistant.client.agents import Agent
from assistant.client.mcp_servers import McpHandlers, McpServer, McpTools
from assistant.client.tool_search import SearchingToolset
from assistant.core.toolcalls.protocols import FixedToolset, Toolset
from assistant.toolkit import InvalidTool, Registry, Tool, ToolContext, UnknownTool
from assistant.toolkit.calls.gate import HandedIn, called, discard, positional_mistake
from assistant.toolkit.calls.worker_threads import is_async
from assistant.toolkit.definition.augmentation import takes_fields
from assistant.toolkit.definition.context_annotations import is_context
from assistant.toolkit.definition.results import ResultConverter
from assistant.toolkit.definition.settings import calls_functions
from assistant.toolkit.definition.tool import tools_of
from assistant.toolkit.registry import tools_in
from assistant.toolkit.unknown_options import meant_by

logger = logging.getLogger(__name__)

Resolver = Registry | Callable[[str], Tool | Awaitable[Tool | None] | None]
# How deep lists may lie in lists.
MAX_DEPTH = 10


def single_sources(source: object, *, depth: int = 0) -> Iterator[object]:
    """Yield what a source of tools holds: tools, functions, names, and what is none of these, such as `McpServer`.

    Args:
        source: one of these, an object or a class with methods that are tools, a module, an `Agent`, a `Registry`, a
            mapping (its keys name functions and tools), or a list of all these, which may be nested.

    Raises:
        InvalidTool: a class has tools that need an object, a module has none, or the lists are nested too deep.
    """
    if depth > MAX_DEPTH:
        raise InvalidTool(f"Lists of tools are nested more than {MAX_DEPTH} deep.")
    if isinstance(source, Tool | str):
        yield source
    elif isinstance(source, Agent):
        yield source.as_tool()
    elif isinstance(source, ModuleType):
        found = tools_in(source)
        if not found:
            raise InvalidTool(f"The module {source.__name__} has no tools: decorate its functions with @tool.")
        yield from found
    elif isinstance(source, Mapping):
        for name, value in source.items():
            yield from _named(name, single_sources(value, depth=depth + 1))
    elif bound := tools_of(source):
        yield from bound
    elif isinstance(source, Iterable) and not isinstance(source, type | bytes):
        for value in source:
            yield from single_sources(value, depth=depth + 1)
    else:
        yield source


def _named(name: object, sources: Iterable[object]) -> Iterator[object]:
    """Yield the sources; a single function or tool gets the name."""
    if not isinstance(name, str):
        raise InvalidTool(f"A mapping of tools has names as keys, not {name!r}.")
    found = list(sources)
    for source in found:
        if len(found) > 1 or not callable(source):
            yield source
        elif isinstance(source, Tool):
            yield source.replace(name=name)
        else:
            yield Tool.from_function(source, name=name)


def find_tool(source: object, defaults: Mapping[str, Tool], resolvers: Sequence[Resolver]) -> Tool:
    """Return a tool that is given as itself, as a function, or by its name; in this thread, without an event loop.

    Args:
        defaults: the client's own tools, by name.
        resolvers: look up other names, in this order; none of them is async.

    Raises:
        InvalidTool: it is none of these.
        UnknownTool: nothing knows the name.
    """
    if isinstance(source, Tool):
        return source
    if not isinstance(source, str):
        return _from_function(source)
    if source in defaults:
        return defaults[source]
    for resolver in resolvers:
        if isinstance(resolver, Registry):
            resolved = resolver.get(source) if source in resolver else None
        else:
            resolved = _checked(resolver(source))
        if resolved is not None:
            return resolved
    raise UnknownTool(source, _names(defaults, resolvers))


def _names(defaults: Mapping[str, Tool], resolvers: Sequence[Resolver]) -> list[str]:
    """Return the names that are known: those of the tools at hand, and of registries among the resolvers."""
    registries = [resolver for resolver in resolvers if isinstance(resolver, Registry)]
    return [*defaults, *(tool.name for registry in registries for tool in registry)]


async def find_tool_of_call(source: object, defaults: Mapping[str, Tool], resolvers: Sequence[Resolver]) -> Tool:
    """Return what `find_tool` returns, on an event loop: resolvers may be async, and others run in a thread."""
    if not isinstance(source, str) or source in defaults:
        return find_tool(source, defaults, ())
    for resolver in resolvers:
        if isinstance(resolver, Registry):
            resolved = resolver.get(source) if source in resolver else None
        else:
            resolved = _checked(await called(HandedIn(resolver, (source,), "resolvers", "ChatClient", seconds=60.0)))
        if resolved is not None:
            return resolved
    raise UnknownTool(source, _names(defaults, resolvers))


def _from_function(source: object) -> Tool:
    if not callable(source):
        raise InvalidTool(
            f"{source!r} is no source of tools: it is not a tool, a function or a name, and none of its methods is a "
            "tool. Decorate them with @tool."
        )
    if getattr(source, "__name__", "") == "<lambda>":
        raise InvalidTool(
            "A lambda is no tool: it has no name. In a mapping, tools={'name': function}, it has one. To be asked for "
            "the tools at each call, it takes the context: tools=lambda context: [...]."
        )
    return Tool.from_function(source)


def _checked(resolved: Any) -> Tool | None:
    if resolved is None or isinstance(resolved, Tool):
        return resolved
    discard(resolved)
    raise InvalidTool(f"A resolver gave a {type(resolved).__name__}, not a tool or None.")


if TYPE_CHECKING:
    from typing_extensions import TypeIs

# A tool, a function, a name, an `McpServer`, an `Agent`, a `Registry`, an object or a class with methods that are
# tools, a module, a mapping of names to these, or a list of these.
ToolSource = object
# Asked for the tools at each call. Sync functions run in a thread.
ToolProvider = Callable[[ToolContext[Any]], Awaitable[Iterable[ToolSource]] | Iterable[ToolSource]]
# A model of fields, or a function that says at each call which the call has; sync functions run in a thread.
Augmentations = (
    type[BaseModel] | Callable[[ToolContext[Any]], Awaitable[type[BaseModel] | None] | type[BaseModel] | None]
)
# What single sources become; a name only where it is looked up later.
Source = TypeVar("Source", Tool | McpServer, Tool | McpServer | str)
# In seconds, of a provider.
PROVIDER_SECONDS = 60.0


class ToolSources:
    """What a client takes its tools from; the arguments are those of `ChatClient`."""

    def __init__(
        self,
        tools: ToolProvider | ToolSource,
        *,
        resolvers: Sequence[Resolver],
        configs: Mapping[str, Any] | None,
        secrets: Mapping[str, Mapping[str, str]] | None,
        search_over: int,
        result_converter: ResultConverter | None = None,
        augmentation: Augmentations | None = None,
        mcp_handlers: McpHandlers,
    ) -> None:
        if augmentation is not None:
            _check_augmentation(augmentation)
        self._resolvers = tuple(resolvers)
        self._configs, self._secrets = configs, secrets
        self._search_over = search_over
        self._mcp_handlers = mcp_handlers
        self._mcp: McpTools | None = None
        self._converter = result_converter
        self._augmentation = augmentation
        self._provider = tools if is_provider(tools) else None
        self._sources = [] if self._provider is not None else self._resolved(tools)
        self._ready = [source for source in self._sources if not isinstance(source, str)]
        self._names_wait = len(self._ready) < len(self._sources)
        self._defaults = {tool.name: tool for tool in self._ready if isinstance(tool, Tool)}
        # Validators of settings may query a database, which only the calls can wait for.
        ready = (tool for tool in self._defaults.values() if tool.config is None or not calls_functions(tool.config))
        FixedToolset(ready, configs=configs, secrets=secrets)
        # What names tools that have settings or secrets, and by which option.
        self._named = {**dict.fromkeys(configs or (), "configs"), **dict.fromkeys(secrets or (), "secrets")}
        self._told: set[str] = set()
        if self._named and all(isinstance(source, Tool) for source in self._sources):
            self._check_names()
        if isinstance(augmentation, type):
            augmented(self._defaults.values(), augmentation)

    async def toolset(
        self,
        own: ToolProvider | ToolSource | None,
        context: ToolContext[Any],
        more: ToolProvider | ToolSource | None = None,
    ) -> tuple[Toolset, list[Tool], type[BaseModel] | None]:
        """Return the tools of one call, as a toolset and as they are, and the augmentation of the call.

        Args:
            own: the call's own, which replace the client's; None for these.
            context: the context of the call, with the dependencies that the tools get.
            more: tools beside them.

        Raises:
            InvalidTool: a tool's settings are not valid, two have one name, or one waits or wants other dependencies.
            UnknownTool: nothing knows a name.
            RemoteFailure: an MCP server cannot be used.
            Exception: what a provider of tools raises.
        """
        tools: list[Tool] = []
        own = self._provider if own is None else own
        if own is None and self._names_wait:
            own = self._sources
        sources = self._ready if own is None else await self._of_call(own, context)
        if more is not None:
            sources = [*sources, *await self._of_call(more, context)]
        for source in sources:
            tools += await self.mcp.of(source) if isinstance(source, McpServer) else [source]
        if self._named:
            is_fixed = own is None and more is None and all(isinstance(one, Registry) for one in self._resolvers)
            self._tell_names(tools, has_all=is_fixed)
        if self._converter is not None:
            tools = [self._converted(tool) for tool in tools]
        fields = None if self._augmentation is None else await self._fields(self._augmentation, context)
        if fields is not None:
            tools = augmented(tools, fields)
        check_deps(tools, context.deps)
        make = partial(FixedToolset, tools, configs=self._configs, secrets=self._secrets)
        if any(tool.config is not None and calls_functions(tool.config) for tool in tools):
            toolset = await called(HandedIn(make, (), "config", "ChatClient", FixedToolset))
        else:
            toolset = make()
        return SearchingToolset(toolset, threshold=self._search_over) if self._search_over else toolset, tools, fields

    def _misspelt(self, names: Iterable[str], known: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield names that no tool has, each with the tool that is meant: it has no settings by its own name."""
        for name in names:
            if name not in known:
                meant = meant_by(name, known)
                yield name, "" if meant in self._named else meant

    def _check_names(self) -> None:
        """Raise `InvalidTool` for a misspelt tool in `configs` or `secrets`. Others may be tools that a call brings."""
        known = _names(self._defaults, self._resolvers)
        for name, meant in self._misspelt(self._named, known):
            if meant:
                raise InvalidTool(
                    f"{self._named[name]} names {name!r}, which is no tool of the client: is {meant!r} meant? "
                    f"Tools: {', '.join(known)}."
                )

    def _tell_names(self, tools: Iterable[Tool], *, has_all: bool) -> None:
        """Log a warning, once, for each name in `configs` or `secrets` that no tool of a call has.

        Args:
            has_all: the call has brought no tools of its own, so that a name which is like none is told too.
        """
        known = list(dict.fromkeys([*(tool.name for tool in tools), *_names(self._defaults, self._resolvers)]))
        for name, meant in self._misspelt(self._named.keys() - self._told, known):
            if meant or has_all:
                self._told.add(name)
                logger.warning(
                    "%s of ChatClient names %r, which is no tool of this call%s Tools: %s",
                    self._named[name],
                    name,
                    f": is {meant!r} meant?" if meant else ".",
                    ", ".join(known) or "none",
                )

    async def _fields(self, augmentation: Augmentations, context: ToolContext[Any]) -> type[BaseModel] | None:
        """Return the augmentation of a call; a function of the context says it. Raises what that raises."""
        if isinstance(augmentation, type):
            return augmentation
        fields = await called(HandedIn(augmentation, (context,), "augmentation", "ChatClient"))
        if fields is None or (isinstance(fields, type) and issubclass(fields, BaseModel)):
            return fields
        raise InvalidTool(f"augmentation of ChatClient gave {fields!r}, which is no pydantic model.")

    async def close(self) -> None:
        """Close the sessions with MCP servers."""
        if self._mcp is not None:
            await self._mcp.close()

    @property
    def mcp(self) -> McpTools:
        """The tools of MCP servers."""
        if self._mcp is None:
            self._mcp = McpTools(self._mcp_handlers)
        return self._mcp

    def _converted(self, tool: Tool) -> Tool:
        """Return the tool with the client's converter if it has none of its own."""
        if tool.result_converter is not None or tool.handler is None:
            return tool
        return tool.replace(result_converter=self._converter, output_schema=None)

    def _resolved(self, sources: ToolSource) -> list[Tool | McpServer | str]:
        """Return the client's own tools; a name that an async resolver may know is looked up at each call."""
        waits = any(not isinstance(one, Registry) and is_async(one) for one in self._resolvers)
        return _possible(
            source
            if isinstance(source, Tool | McpServer) or (waits and isinstance(source, str))
            else find_tool(source, {}, self._resolvers)
            for source in single_sources(sources)
        )

    async def _of_call(self, sources: ToolProvider | ToolSource, context: ToolContext[Any]) -> list[Tool | McpServer]:
        if is_provider(sources):
            sources = await called(HandedIn(sources, (context,), "tools", "ChatClient", seconds=PROVIDER_SECONDS))
            if sources is None or is_provider(sources):
                raise InvalidTool(f"A provider of tools gave a {type(sources).__name__}, not the tools.")
        return _possible(
            [
                source
                if isinstance(source, Tool | McpServer)
                else await find_tool_of_call(source, self._defaults, self._resolvers)
                for source in single_sources(sources)
            ]
        )


def _check_augmentation(augmentation: object) -> None:
    if isinstance(augmentation, type):
        if not issubclass(augmentation, BaseModel):
            raise TypeError(
                "augmentation must be a pydantic model or a function of the context, "
                f"not the class {augmentation.__name__}."
            )
    elif not callable(augmentation):
        given = type(augmentation).__name__
        raise TypeError(f"augmentation must be a pydantic model or a function of the context, not {given}.")
    elif mistake := positional_mistake(augmentation, 1):
        raise TypeError(f"augmentation {mistake}: it gets the context.")


def augmented(tools: Iterable[Tool], fields: type[BaseModel]) -> list[Tool]:
    """Return tools with an augmentation, where they have none of their own and can have one.

    Raises:
        InvalidTool: one has a parameter with the name of a field.
    """
    return [
        tool.replace(augmentation=fields)
        if tool.augmentation is None and not tool.is_provider_side and takes_fields(tool.parameters)
        else tool
        for tool in tools
    ]


def is_provider(tools: object) -> TypeIs[ToolProvider]:
    """Return whether `tools` is a function that is asked for the tools, and no source of them."""
    if isinstance(tools, Tool | type | Iterable) or not callable(tools):
        return False
    return not tools_of(tools) and _takes_context(tools)


def _takes_context(function: Callable[..., Any]) -> bool:
    """Return whether a function takes the context alone; one with other parameters, or without any, is a tool."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    needed = [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    if len(needed) != 1:
        return False
    annotation = needed[0].annotation
    return annotation in (inspect.Parameter.empty, Any, object, "Any", "object") or is_context(annotation)


def _possible(sources: Iterable[Source]) -> list[Source]:
    """Return the sources. Raises `InvalidTool` for two tools of one name, and for one that waits."""
    possible = list(sources)
    for tool in Registry(source for source in possible if isinstance(source, Tool)):
        if tool.waits:
            raise InvalidTool(f"Tool {tool.name!r} waits for results from outside, which only a server's runs can.")
    return possible


def check_deps(tools: Iterable[Tool], deps: object) -> None:
    """Raise `InvalidTool` if a tool wants dependencies of another type."""
    for tool in tools:
        for wanted in getattr(tool.signature, "deps", ()):
            if not _is(deps, wanted):
                given = "none are given" if deps is None else f"{type(deps).__name__} are given"
                raise InvalidTool(f"Tool {tool.name!r} wants dependencies of the type {wanted.__name__}; {given}.")


def _is(deps: object, wanted: type) -> bool:
    try:
        return isinstance(deps, wanted)
    except TypeError:  # a protocol that cannot be checked while the program runs
        return deps is not None

"""ASGI applications that answer addresses beside the Django site: optional apps register theirs when they are ready."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from assistant.toolkit.calls.handed_in import refuse_async
from assistant.toolkit.lazy_module import LazyModule


@dataclass(frozen=True, slots=True)
class Mount:
    """An application for addresses of its own.

    Attributes:
        serves: whether it answers a path instead of the site.
        module: the dotted name of the module whose `application` answers. It is imported with the first request.
        prefix: what its addresses begin with, where a proxy limits requests as those of APIs.
    """

    serves: Callable[[str], bool]
    module: str
    prefix: str = ""


_mounts: dict[str, Mount] = {}
_websockets: dict[str, Mount] = {}


def mount(name: str, *, serves: Callable[[str], bool], module: str, prefix: str) -> None:
    """Answer the paths for which `serves` is True by the `application` of a module. The name is the app's label.

    Raises:
        TypeError: `serves` is async.
    """
    refuse_async(serves, f"serves of {name}")
    _mounts[name] = Mount(serves, module, prefix)


def mount_websocket(name: str, *, serves: Callable[[str], bool], module: str) -> None:
    """Answer the websockets for whose path `serves` is True, as `mount` does requests. Raises `TypeError` likewise."""
    refuse_async(serves, f"serves of {name}")
    _websockets[name] = Mount(serves, module)


def mounted() -> tuple[str, ...]:
    """Return the labels of the apps that answer addresses of their own."""
    return tuple(dict.fromkeys((*_mounts, *_websockets)))


def prefixes() -> tuple[str, ...]:
    """Return what the addresses of the registered applications begin with."""
    return tuple(mounted.prefix for mounted in _mounts.values())


def with_mounts(site: Any) -> Any:
    """Return an application that asks the registered ones first, and the site for all other addresses."""
    return _first_of(_mounts.values(), site)


def with_mounted_websockets(others: Any) -> Any:
    """Return an application that asks the registered ones for websockets first, and `others` for the rest."""
    return _first_of(_websockets.values(), others)


def _first_of(mounts: Iterable[Mount], others: Any) -> Any:
    modules = [(mounted.serves, LazyModule(mounted.module)) for mounted in mounts]
    if not modules:
        return others

    async def route(scope: Any, receive: Any, send: Any) -> None:
        for serves, module in modules:
            if serves(scope["path"]) is True:
                loaded = await module.get()
                await loaded.application(scope, receive, send)
                return
        await others(scope, receive, send)

    return route

"""ASGI applications that answer addresses beside the Django site: optional apps register theirs when they are ready."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assistant.toolkit.lazy_module import LazyModule


@dataclass(frozen=True, slots=True)
class Mount:
    """An application for addresses of its own.

    Attributes:
        serves: whether it answers a path instead of the site.
        module: the dotted name of the module whose `application` answers. It is imported with the first request.
    """

    serves: Callable[[str], bool]
    module: str


_mounts: dict[str, Mount] = {}


def mount(name: str, *, serves: Callable[[str], bool], module: str) -> None:
    """Answer the paths for which `serves` is true by the `application` of a module. The name is the app's label."""
    _mounts[name] = Mount(serves, module)


def mounted() -> tuple[str, ...]:
    """Return the labels of the apps that answer addresses of their own."""
    return tuple(_mounts)


def with_mounts(site: Any) -> Any:
    """Return an application that asks the registered ones first, and the site for all other addresses."""
    mounted = [(one.serves, LazyModule(one.module)) for one in _mounts.values()]
    if not mounted:
        return site

    async def route(scope: Any, receive: Any, send: Any) -> None:
        for serves, module in mounted:
            if serves(scope["path"]):
                found = await module.get()
                await found.application(scope, receive, send)
                return
        await site(scope, receive, send)

    return route

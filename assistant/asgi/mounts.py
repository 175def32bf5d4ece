"""ASGI applications that answer addresses in place of a Django view: optional apps register theirs when they are ready.

Their addresses stand in the URL patterns like all others, with the view `beside_the_site`. So they lie below the mount,
and the project's own patterns come first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse

from assistant.asgi.json_apis import own_name
from assistant.toolkit.lazy_module import LazyModule


@dataclass(frozen=True, slots=True)
class Mount:
    """An application for addresses of its own.

    Attributes:
        names: the names of its URL patterns.
        module: the dotted name of the module whose `application` answers. It is imported with the first request.
        prefix: what its addresses begin with below the mount, where a proxy limits requests as those of APIs.
    """

    names: tuple[str, ...]
    module: str
    prefix: str = ""


_mounts: dict[str, Mount] = {}
_websockets: dict[str, Mount] = {}


def beside_the_site(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    """Answer 501 where the project is served without `with_assistant`, which answers these addresses otherwise."""
    return HttpResponse("This address needs the ASGI application of with_assistant.", status=501)


def mount(name: str, *, names: tuple[str, ...], module: str, prefix: str) -> None:
    """Answer requests to URL patterns with these names by the `application` of a module. `name` is the app's label."""
    _mounts[name] = Mount(names, module, prefix)


def mount_websocket(name: str, *, names: tuple[str, ...], module: str) -> None:
    """Answer websockets at URL patterns with these names, as `mount` does requests."""
    _websockets[name] = Mount(names, module)


def mounted() -> tuple[str, ...]:
    """Return the labels of the apps that answer addresses of their own."""
    return tuple(dict.fromkeys((*_mounts, *_websockets)))


def prefixes() -> tuple[str, ...]:
    """Return what the addresses of the registered applications begin with below the mount."""
    return tuple(mounted.prefix for mounted in _mounts.values())


def with_mounts(site: Any) -> Any:
    """Return an application that answers the addresses of the registered ones by them, and all others by the site."""
    return _by_name(_mounts.values(), site)


def with_mounted_websockets(others: Any) -> Any:
    """Return an application that answers the websockets of the registered ones by them, and the rest by `others`."""
    return _by_name(_websockets.values(), others)


def _by_name(mounts: Iterable[Mount], others: Any) -> Any:
    modules = {name: LazyModule(mounted.module) for mounted in mounts for name in mounted.names}
    if not modules:
        return others

    # No coroutine function: that of a websocket would be resumed with each of its frames.
    def route(scope: Any, receive: Any, send: Any) -> Awaitable[None]:
        module = modules.get(own_name(scope))
        return others(scope, receive, send) if module is None else _answer(module, scope, receive, send)

    return route


async def _answer(module: LazyModule, scope: Any, receive: Any, send: Any) -> None:
    loaded = await module.get()
    await loaded.application(scope, receive, send)

"""Puts what needs ASGI in a Django site: the websocket API, what optional apps serve, and bounds of requests."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import CookieMiddleware
from django.core.exceptions import DisallowedHost, ImproperlyConfigured
from django.core.handlers.asgi import ASGIHandler, ASGIRequest

from assistant.api.authentication import HttpRefusal
from assistant.api.request_end import with_request_end
from assistant.asgi.access_log import with_request_id
from assistant.asgi.body_limits import with_bounded_bodies
from assistant.asgi.json_apis import api_of, is_below_mount, match_of, own_name, path_of
from assistant.asgi.lifespan import lifespan
from assistant.asgi.mounts import with_mounted_websockets, with_mounts
from assistant.asgi.probes import with_probes
from assistant.asgi.refusals import refuse
from assistant.asgi.view_slots import with_bounded_views
from assistant.optional_apps import problems_of_settings
from assistant.services.jobs import jobs
from assistant.services.privacy import daily_retention  # noqa: F401 - registers its job
from assistant.services.tenancy.row_scope import set_tenants
from assistant.staticfiles import with_static_files
from assistant.toolkit.unknown_options import lists_options
from assistant.websocket.consumer import ChatConsumer

WEBSOCKET = "websocket"
WRONG_HOST = HttpRefusal(421, "invalid_host", "This host name is not served here.")


def with_known_hosts(application: Any) -> Any:
    """Wrap an application so that its API answers 421 to unknown hosts; Django would answer with an HTML page."""

    async def known(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and _has_unknown_host(scope) and api_of(scope):
            await refuse(WRONG_HOST, scope, send)
        else:
            await application(scope, receive, send)

    return known


def _has_unknown_host(scope: Any) -> bool:
    """Return whether Django refuses the host, which it reads from the header that the settings name."""
    try:
        ASGIRequest(scope, BytesIO()).get_host()
    except DisallowedHost:
        return True
    return False


def with_cookies(application: Any) -> Any:
    """Wrap an application so that it gets the browser's cookies.

    The consumer reads the session itself, because Channels' session middleware would check for every frame that is sent
    whether the session was modified.
    """
    return CookieMiddleware(application)


_chat = with_cookies(ChatConsumer.as_asgi())


def chat(scope: Any, receive: Any, send: Any) -> Any:
    """Return what serves one connection to an assistant, at the address that the websocket API has."""
    match = match_of(scope)
    return _chat({**scope, "url_route": {"args": (), "kwargs": match.kwargs if match else {}}}, receive, send)


async def upgrade_required(scope: Any, receive: Any, send: Any) -> None:
    """Answer 426 to an HTTP request for a websocket's address, of any tenant (RFC 9110, section 15.5.22).

    Pages of all origins may read the response, from which the widget learns that the server is up and has refused its
    handshake.
    """
    headers = [(b"upgrade", b"websocket"), (b"content-length", b"0"), (b"access-control-allow-origin", b"*")]
    await send({"type": "http.response.start", "status": 426, "headers": headers})
    await send({"type": "http.response.body"})


async def refuse_unknown(scope: Any, receive: Any, send: Any) -> None:
    """Refuse a websocket at an unknown address with 403, the status for callers who are not admitted."""
    await receive()
    await send({"type": "websocket.close"})


def _at_websocket(ours: Any, others: Any) -> Any:
    """Answer the address of the websocket API by one application, and all others by another."""

    def route(scope: Any, receive: Any, send: Any) -> Any:
        return (ours if own_name(scope) == WEBSOCKET else others)(scope, receive, send)

    return route


def _websockets_of(site: Any) -> Any:
    """Return the application for the project's own websockets: the site, unless it is Django, which serves none."""
    if isinstance(site, ProtocolTypeRouter):
        return site.application_mapping.get("websocket", refuse_unknown)
    return refuse_unknown if site is None or isinstance(site, ASGIHandler) else site


def _has_route(application: Any, path: str) -> bool:
    """Return whether the project's own websockets have a route for a path, as far as a `URLRouter` says so."""
    while application is not None:
        if isinstance(application, URLRouter):
            return any(route.pattern.match(path.lstrip("/")) is not None for route in application.routes)
        application = getattr(application, "inner", None) or getattr(application, "application", None)
    return False


@lists_options
def with_assistant(site: Any, *, websockets: Any = None, whole_site: bool = False) -> Any:
    """Return a project's ASGI application: the site, and below the mount of the assistant's URLs what needs ASGI.

    The project's own addresses are asked first, and left as they are. Those below the mount have bounds of their
    bodies, places for synchronous views, an id for each request and a line in the log. It serves the assistant's static
    files too (with DEBUG those of all apps), as `runserver` does.

    Args:
        site: the result of `get_asgi_application()`, or a `ProtocolTypeRouter` of your own.
        websockets: the application for the project's own websockets, such as a `URLRouter`.
        whole_site: whether bounds, places, ids and log lines are those of all addresses.

    Raises:
        ImproperlyConfigured: an environment variable or a setting of the assistant has a wrong value.
    """
    if problems := problems_of_settings():
        # ASGI servers run no system checks.
        raise ImproperlyConfigured(" ".join(problems))
    jobs.import_handlers()
    theirs = websockets or _websockets_of(site)
    http = _http(site, whole_site=whole_site)
    sockets = with_request_id(with_mounted_websockets(_at_websocket(chat, theirs)))

    async def route(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            set_tenants()
            await http(scope, receive, send)
        elif scope["type"] == "websocket":
            set_tenants()
            is_ours = is_below_mount(scope) and not _has_route(theirs, path_of(scope))
            await (sockets if is_ours or whole_site else theirs)(scope, receive, send)
        elif scope["type"] == "lifespan":
            await lifespan(scope, receive, send)
        else:
            await site(scope, receive, send)

    return route


def _http(site: Any, *, whole_site: bool) -> Any:
    if whole_site:
        return _guarded(with_static_files(with_bounded_views(site)))
    ours = _guarded(with_bounded_views(site))

    async def choose(scope: Any, receive: Any, send: Any) -> None:
        await (ours if is_below_mount(scope) else site)(scope, receive, send)

    return with_static_files(choose)


def _guarded(views: Any) -> Any:
    """Wrap the views with what all requests to the assistant go through."""
    api = with_probes(with_known_hosts(with_mounts(with_request_end(views))))
    return with_request_id(with_bounded_bodies(_at_websocket(upgrade_required, api)))

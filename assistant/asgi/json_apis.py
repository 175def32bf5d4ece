"""The APIs with JSON bodies below the mount of `assistant.urls`: optional apps add theirs when they are ready."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from django.urls import ResolverMatch

from assistant.services import addresses

if TYPE_CHECKING:
    from assistant.api.authentication import HttpRefusal


@dataclass(frozen=True, slots=True)
class JsonApi:
    """An API whose bodies are small JSON texts, but where files come.

    Attributes:
        prefix: what its addresses begin with, such as `api/`.
        uploads: its addresses where bodies hold files, in which a `*` is any one part.
        refusal_body: returns the JSON for a request that does not reach the site.
    """

    prefix: str
    uploads: tuple[str, ...]
    refusal_body: Callable[[HttpRefusal], Mapping[str, Any]]


# Where a scope keeps what its address leads to.
_MATCH = "assistant.match"
# Where files are uploaded for messages and as documents, and where clients send their history with all of its files.
_REST_UPLOADS = (
    "api/v1/tenants/*/attachments/",
    "api/v1/tenants/*/documents/",
    "api/v1/tenants/*/assistants/*/runs/",
)
# REST comes first, because its addresses hold the prefixes of others, such as `v1/`.
_apis: list[JsonApi] = [JsonApi("api/", _REST_UPLOADS, lambda refusal: refusal.body)]


def add_api(api: JsonApi) -> None:
    """Bound the bodies at an API's addresses as those of REST, and refuse in the API's own form."""
    if api not in _apis:
        _apis.append(api)
        _uploads.cache_clear()


def apis() -> tuple[JsonApi, ...]:
    """Return the APIs, REST first."""
    return tuple(_apis)


def path_of(scope: Mapping[str, Any]) -> str:
    """Return the path that Django resolves."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def match_of(scope: MutableMapping[str, Any]) -> ResolverMatch | None:
    """Return what the address of a request or of a websocket leads to, looked up once; None if to nothing."""
    if _MATCH not in scope:
        scope[_MATCH] = addresses.find(path_of(scope))
    match: ResolverMatch | None = scope[_MATCH]
    return match


def own_name(scope: MutableMapping[str, Any]) -> str:
    """Return the name of an address of the assistant's; an empty string for all others."""
    match = match_of(scope)
    return match.url_name or "" if match is not None and addresses.is_own(match) else ""


def is_below_mount(scope: MutableMapping[str, Any]) -> bool:
    """Return whether an address is the assistant's, or would be: below its mount, and none of the project's own."""
    if not path_of(scope).startswith(addresses.mounts()):
        return False
    match = match_of(scope)
    return match is None or addresses.is_own(match)


def api_of(scope: MutableMapping[str, Any]) -> JsonApi | None:
    """Return which API an address belongs to, wherever the project has mounted it; None for all others."""
    match = match_of(scope)
    if match is None or not addresses.is_own(match):
        return None
    return next((api for api in _apis if f"/{api.prefix}" in f"/{match.route}"), None)


def takes_files(path: str) -> bool:
    """Return whether the bodies at a path of an API hold files."""
    return _uploads().search(path) is not None


@cache
def _uploads() -> re.Pattern[str]:
    uploads = (re.escape(address.rstrip("/")).replace(r"\*", "[^/]+") for api in _apis for address in api.uploads)
    return re.compile(rf"/(?:{'|'.join(uploads)})/*\Z")

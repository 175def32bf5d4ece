"""The APIs with JSON bodies below the mount of `assistant.urls`: optional apps add theirs when they are ready."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from django.urls import Resolver404, resolve

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


# Where files are uploaded for messages, and where clients send their history with all of its files.
_REST_UPLOADS = ("api/v1/tenants/*/attachments/", "api/v1/tenants/*/assistants/*/runs/")
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


def api_of(scope: Mapping[str, Any]) -> JsonApi | None:
    """Return which API an address belongs to, wherever the project has mounted it; None for all others."""
    try:
        match = resolve(path_of(scope))
    except Resolver404:
        return None
    if "assistant" not in match.app_names:
        return None
    return next((api for api in _apis if f"/{api.prefix}" in f"/{match.route}"), None)


def takes_files(path: str) -> bool:
    """Return whether the bodies at a path of an API hold files."""
    return _uploads().search(path) is not None


@cache
def _uploads() -> re.Pattern[str]:
    addresses = (re.escape(address).replace(r"\*", "[^/]+") for api in _apis for address in api.uploads)
    return re.compile(rf"/(?:{'|'.join(addresses)})\Z")

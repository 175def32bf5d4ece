"""How large the body of a request may be, by its address."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from django.conf import settings

from assistant.api.parsers import MAX_BODY
from assistant.asgi.json_apis import api_of, match_of, path_of, takes_files
from assistant.uploads import has_file_field

# More than MAX_BODY, so that the API's views can answer a body that is only a little too large.
MAX_BUFFERED_BYTES = 2 * MAX_BODY
# The admin's addresses with forms that may have files.
_FORMS = ("_add", "_change")


def least_bound() -> int:
    """Return the smallest bound of all addresses: a body within it is allowed at every address."""
    return min(MAX_BUFFERED_BYTES, settings.ASSISTANT_MAX_BODY_BYTES, settings.ASSISTANT_MAX_UPLOAD_BYTES)


def size_bound(scope: MutableMapping[str, Any]) -> int:
    """Return how many bytes are read of a body at this address."""
    path = path_of(scope)
    if api_of(scope) and not takes_files(path):
        return MAX_BUFFERED_BYTES
    bound: int = settings.ASSISTANT_MAX_UPLOAD_BYTES if _takes_files(scope) else settings.ASSISTANT_MAX_BODY_BYTES
    return bound


def _takes_files(scope: MutableMapping[str, Any]) -> bool:
    """Return whether files come to an address: with messages, at ASSISTANT_UPLOAD_PATHS, or in forms of the admin."""
    path = path_of(scope)
    if path.startswith(tuple(settings.ASSISTANT_UPLOAD_PATHS)) or takes_files(path):
        return True
    match = match_of(scope)
    if match is None:
        return False
    page = getattr(match.func, "model_admin", None)
    return page is not None and (match.url_name or "").endswith(_FORMS) and has_file_field(page)

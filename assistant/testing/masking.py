"""Masks secrets in what a cassette stores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

MASK = "***"
# All other headers are left out: a header that a gateway adds can hold a secret under any name.
REQUEST_HEADERS = ("content-type",)
RESPONSE_HEADERS = ("content-type",)
_CREDENTIAL_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key", "proxy-authorization", "cookie")
_SECRET_NAME = re.compile(
    r"(^|[_-])(password|passwd|secret|token|key|credential|authorization|cookie|signature)s?$|api_?key", re.IGNORECASE
)
# The formats of keys that providers hand out, wherever they stand.
_KEY = re.compile(r"\b(?:sk|rk|pk|gsk|xai|hf|ghp|ta|AIza)[-_]?[A-Za-z0-9_-]{20,}|\bBearer\s+[\w.~+/=-]{8,}")
# Shorter texts occur elsewhere by chance.
_SHORTEST_SECRET = 6


def secrets_of(headers: Mapping[str, str]) -> list[str]:
    """Return the credentials that a request's headers hold."""
    values = (headers[name] for name in _CREDENTIAL_HEADERS if name in headers)
    words = (word for value in values for word in (value, value.rpartition(" ")[2]))
    return sorted({word for word in words if len(word) >= _SHORTEST_SECRET}, key=len, reverse=True)


def mask_text(text: str, secrets: Iterable[str]) -> str:
    """Return a text without the secrets, and without anything that looks like a provider's key."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return _KEY.sub(MASK, text)


def mask_value(value: Any, secrets: Iterable[str]) -> Any:
    """Return a JSON value whose texts are masked; texts of fields that are named like a secret are masked whole."""
    if isinstance(value, str):
        return mask_text(value, secrets)
    if isinstance(value, list):
        return [mask_value(item, secrets) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: MASK if isinstance(item, str) and _SECRET_NAME.search(name) else mask_value(item, secrets)
        for name, item in value.items()
    }


def mask_path(url: str, secrets: Iterable[str]) -> str:
    """Return the path and query of a URL, masked. The host is left out: a test does not depend on it."""
    parts = urlsplit(url)
    query = [(name, MASK if _SECRET_NAME.search(name) else value) for name, value in parse_qsl(parts.query)]
    return mask_text(parts.path + (f"?{urlencode(query, safe='*')}" if query else ""), secrets)


def without_user(url: str) -> str:
    """Return an address without a user name, password or query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def kept_headers(headers: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the headers that a cassette stores."""
    return {name: headers[name] for name in names if name in headers}

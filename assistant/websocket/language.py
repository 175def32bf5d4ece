"""The language of a connection: that of the page that opened it, else what the browser or the program asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from django.http import HttpRequest
from django.utils.translation import get_language_from_request, get_supported_language_variant, gettext

from assistant.services.tenancy.origins import headers_of

# Bytes of the reason with which a websocket is closed.
MAX_REASON = 123


def language_of(scope: Mapping[str, Any]) -> str:
    """Return one of the project's languages: `?language=` of the address, else `Accept-Language`, else the default."""
    asked = parse_qs(scope.get("query_string", b"")[:1000].decode("latin-1")).get("language", [""])[0].lower()
    try:
        return get_supported_language_variant(asked)
    except LookupError:
        request = HttpRequest()
        request.META["HTTP_ACCEPT_LANGUAGE"] = headers_of(scope).get("accept-language", "")[:500]
        return get_language_from_request(request)


def close_reason(english: str, sentence: str = "") -> str:
    """Return the reason of a close frame: the sentence, or the English one's translation, if that is short enough."""
    sentence = sentence or gettext(english)
    return sentence if len(sentence.encode()) <= MAX_REASON else english

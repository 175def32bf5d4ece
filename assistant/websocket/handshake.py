"""Reads a websocket's handshake: its credentials and its language, and the reason with which it is closed.

A member connects with an API key, or with their session from an allowed origin. The widget connects with a token, from
a page that may show it. A handshake that is not admitted is answered with 403, for any reason. The language is that of
the page that opened the connection, else what the browser or the program asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language_from_request, get_supported_language_variant, gettext

from assistant.services.callers.doors import Door
from assistant.services.tenancy.authentication import BrowserSession, CredentialKind, Credentials, bearer_of
from assistant.services.tenancy.origins import headers_of, is_allowed_origin
from assistant.services.tenancy.sessions import open_session, user_of

PROTOCOL = "agui.v1"
DOOR = Door(frozenset(CredentialKind), counts_requests=False)
# Bytes of the reason with which a websocket is closed.
MAX_REASON = 123


def credentials_of(scope: Mapping[str, Any]) -> Credentials:
    """Return the credentials of a handshake, from its headers, subprotocols and cookies, without database queries.

    Browsers send cookies with the handshake of any page, so a session is accepted only from an allowed origin.
    """
    headers = headers_of(scope)
    bearer = bearer_of(headers, scope.get("subprotocols") or ())
    session = _session(scope) if bearer is None and is_allowed_origin(scope, headers) else None
    return Credentials(bearer=bearer, session=session, origin=headers.get("origin", ""))


def credential_text(scope: Mapping[str, Any], credentials: Credentials) -> str:
    """Return the key, token or session cookie of a handshake, valid or not. Handshakes are rate-limited by it."""
    if credentials.bearer is not None:
        return credentials.bearer
    return str(scope["cookies"].get(settings.SESSION_COOKIE_NAME, ""))


def _session(scope: Mapping[str, Any]) -> BrowserSession:
    store = open_session(scope["cookies"].get(settings.SESSION_COOKIE_NAME))
    return BrowserSession(store, user=lambda: user_of(store), is_cross_site=lambda: False)


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

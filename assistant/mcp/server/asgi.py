"""The door: what comes to `/mcp/` is let in by its host, origin and key, before the protocol sees any of it."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from assistant.services.db.threads import in_database
from assistant.services.errors import OUTAGE_ERRORS, log_failure
from assistant.services.limits.api_key_requests import TooManyRequests, count_request
from assistant.services.limits.rate_limits import take_mcp_request
from assistant.services.tenancy.members import Member, member_by_key
from assistant.services.tenancy.origins import headers_of, is_allowed_host, is_allowed_origin, is_secure
from assistant.services.tenancy.row_scope import enter
from assistant.toolkit.lazy_module import Late

logger = logging.getLogger(__name__)

PATH = "/mcp/"
METADATA = "/.well-known/oauth-protected-resource"
SCOPE = "tools"
# The module that imports the SDK, which takes a third of a process's start.
_answering = Late("assistant.mcp.server.dispatch")


def is_mcp(path: str) -> bool:
    """Whether an address is answered here, and not by the site."""
    return path in {PATH, PATH.rstrip("/")} or path.removeprefix(METADATA) in {"", PATH, PATH.rstrip("/")}


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one HTTP request."""
    headers = headers_of(scope)
    refusal = _refuse_address(scope, headers)
    if refusal is not None:
        await refusal(scope, receive, send)
    elif scope["path"].startswith(METADATA):
        await _metadata(scope, headers)(scope, receive, send)
    else:
        try:
            member = await in_database(_caller, headers)
            answer = _refuse_caller(scope, headers, member) or await in_database(_spend, member)
        except OUTAGE_ERRORS as exc:
            member, answer = None, _unavailable(exc)
        if answer is not None or member is None:
            await (answer or Response(status_code=401))(scope, receive, send)
            return
        enter(member.tenant_id)
        answering = await _answering.get()
        await answering.answer(scope, receive, send, member)


def _refuse_address(scope: Scope, headers: dict[str, str]) -> Response | None:
    """A page of another site, or a name that is not ours, learns nothing (DNS rebinding)."""
    if not is_allowed_host(headers.get("host", "")):
        return _error(421, "invalid_host", "This host name is not served here.")
    if "origin" in headers and not is_allowed_origin(headers):
        return _error(403, "invalid_origin", "Pages of this origin may not speak to this server.")
    if getattr(settings, "SECURE_SSL_REDIRECT", False) and not is_secure(scope, headers):
        return _error(403, "insecure", "Use https: a key must not travel in the clear.")
    return None


def _caller(headers: dict[str, str]) -> Member | None:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return member_by_key(key=key.strip()) if scheme.lower() == "bearer" and key.strip() else None


def _spend(member: Member | None) -> Response | None:
    if member is not None:
        try:
            count_request(member=member)
        except TooManyRequests as exc:
            answer = _error(429, "too_many_requests", str(exc))
            answer.headers["Retry-After"] = str(exc.retry_after)
            return answer
    return None


def _unavailable(exc: Exception) -> Response:
    failure = log_failure(logger, exc, "An MCP request failed")
    answer = _error(failure.status, failure.code, failure.message)
    answer.headers.update(failure.headers)
    return answer


def _refuse_caller(scope: Scope, headers: dict[str, str], member: Member | None) -> Response | None:
    where = f'resource_metadata="{_origin(scope, headers)}{METADATA}{PATH}"'
    if member is None:
        has_key = bool(headers.get("authorization"))
        error = 'error="invalid_token", ' if has_key else ""
        sentence = "The API key is unknown, expired or revoked." if has_key else "Send Authorization: Bearer <API key>."
        return _error(401, "unauthorized", sentence, f'Bearer {error}{where}, scope="{SCOPE}"')
    if SCOPE not in member.scopes:
        challenge = f'Bearer error="insufficient_scope", scope="{SCOPE}", {where}'
        return _error(403, "forbidden", f"This key has no {SCOPE} scope.", challenge)
    if not take_mcp_request(tenant_id=member.tenant_id, user_id=member.user_id):
        answer = _error(429, "too_many_requests", "Too many requests; wait a moment.")
        answer.headers["Retry-After"] = "1"
        return answer
    return None


def _metadata(scope: Scope, headers: dict[str, str]) -> Response:
    """What RFC 9728 wants to be known of a protected resource. Keys are given out in the admin, by no OAuth server."""
    origin = _origin(scope, headers)
    about: dict[str, Any] = {
        "resource": f"{origin}{PATH}",
        "resource_name": "Tenant Assistant",
        "scopes_supported": [SCOPE],
        "bearer_methods_supported": ["header"],
    }
    return JSONResponse(about, headers={"Access-Control-Allow-Origin": "*"})


def _origin(scope: Scope, headers: dict[str, str]) -> str:
    return f"{'https' if is_secure(scope, headers) else 'http'}://{headers['host']}"


def _error(status: int, code: str, message: str, challenge: str = "") -> Response:
    headers = {"WWW-Authenticate": challenge} if challenge else {}
    return JSONResponse({"code": code, "message": message}, status, headers=headers)

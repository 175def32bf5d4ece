"""The ASGI application at `/mcp/`: checks host, origin and API key before the MCP SDK sees a request."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from assistant.asgi.json_apis import own_name
from assistant.contrib.mcp_server.addresses import METADATA, METADATA_PATH, PATH, mount_of
from assistant.contrib.mcp_server.scopes import MCP as RULE
from assistant.services.callers.doors import Door, aadmit
from assistant.services.errors import log_failure
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.tenancy.authentication import AccessDenied, CredentialKind, Credentials, bearer_of
from assistant.services.tenancy.origins import headers_of, is_allowed_host, is_allowed_origin, is_secure
from assistant.toolkit.lazy_module import LazyModule

logger = logging.getLogger(__name__)

SCOPE = str(RULE)
MCP = Door(frozenset({CredentialKind.API_KEY}), limits_members=True)
# Imported with the first request, because importing the SDK would take a third of a process's start-up time.
_dispatch = LazyModule("assistant.contrib.mcp_server.dispatch")


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one HTTP request."""
    headers = headers_of(scope)
    refusal = _refuse_address(scope, headers)
    if refusal is not None:
        await refusal(scope, receive, send)
    elif own_name(scope) == METADATA:
        await _metadata(scope, headers)(scope, receive, send)
    else:
        try:
            caller = await aadmit(Credentials(bearer_of(headers)), MCP, rule=RULE)
        except AccessDenied as denied:
            await _refuse_caller(scope, headers, denied)(scope, receive, send)
        except OUTAGE_ERRORS as exc:
            await _unavailable(exc)(scope, receive, send)
        else:
            dispatch = await _dispatch.get()
            await dispatch.answer(scope, receive, send, caller.member)


def _refuse_address(scope: Scope, headers: dict[str, str]) -> Response | None:
    """Reject unknown host names (to prevent DNS rebinding), pages of other sites, and keys sent without TLS."""
    if not is_allowed_host(headers.get("host", "")):
        return _error(421, "invalid_host", "This host name is not served here.")
    if "origin" in headers and not is_allowed_origin(scope, headers):
        return _error(403, "invalid_origin", "Pages of this origin may not use this server.")
    if getattr(settings, "SECURE_SSL_REDIRECT", False) and not is_secure(scope, headers):
        return _error(403, "insecure", "Use https: an API key must not be sent unencrypted.")
    return None


def _unavailable(exc: Exception) -> Response:
    failure = log_failure(logger, exc, "An MCP request failed")
    answer = _error(failure.status, failure.code, failure.message)
    answer.headers.update(failure.headers)
    return answer


def _refuse_caller(scope: Scope, headers: dict[str, str], denied: AccessDenied) -> Response:
    """Answer a caller who is not admitted, with the challenge of RFC 9728 for a missing, bad or insufficient key."""
    where = f'resource_metadata="{_mount(scope, headers)}{METADATA_PATH}/{PATH}"'
    if denied.reason == "too_many_requests":
        answer = _error(429, "too_many_requests", str(denied))
        answer.headers["Retry-After"] = str(denied.retry_after)
        return answer
    if denied.reason == "missing_scope":
        challenge = f'Bearer error="insufficient_scope", scope="{SCOPE}", {where}'
        return _error(403, "forbidden", str(denied), challenge)
    error = 'error="invalid_token", ' if denied.reason == "bad_credentials" else ""
    return _error(401, "unauthorized", str(denied), f'Bearer {error}{where}, scope="{SCOPE}"')


def _metadata(scope: Scope, headers: dict[str, str]) -> Response:
    """Return the metadata of RFC 9728. It names no authorization server, because keys are created in the admin."""
    about: dict[str, Any] = {
        "resource": f"{_mount(scope, headers)}{PATH}",
        "resource_name": "Tenant Assistant",
        "scopes_supported": [SCOPE],
        "bearer_methods_supported": ["header"],
    }
    return JSONResponse(about, headers={"Access-Control-Allow-Origin": "*"})


def _mount(scope: Scope, headers: dict[str, str]) -> str:
    """Return the address below which the project has mounted the assistant."""
    return f"{'https' if is_secure(scope, headers) else 'http'}://{headers['host']}{mount_of(scope['path'])}"


def _error(status: int, code: str, message: str, challenge: str = "") -> Response:
    headers = {"WWW-Authenticate": challenge} if challenge else {}
    return JSONResponse({"code": code, "message": message}, status, headers=headers)

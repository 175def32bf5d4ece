"""Errors in OpenAI's format: https://platform.openai.com/docs/guides/error-codes."""

from __future__ import annotations

from typing import Any

# Codes that have another name in OpenAI's API.
CODES = {
    "unauthorized": "invalid_api_key",
    "too_many_requests": "rate_limit_exceeded",
    "quota_exceeded": "insufficient_quota",
}


def error_body(message: str, *, kind: str, code: str, param: str | None = None) -> dict[str, Any]:
    """Return the body of an error response; `param` is the field of the request that is wrong."""
    return {"error": {"message": message, "type": kind, "param": param, "code": CODES.get(code, code)}}

"""Maps a provider's HTTP status and error codes to errors with sentences that are safe to show to users."""

from __future__ import annotations

import re
from typing import Any

from assistant.core.llm.protocol import ModelError

NO_KEY = "OpenAI needs a key: set OPENAI_API_KEY, or the key of the provider in the admin."
REFUSED_KEY = "The provider refused the key."
TOO_BUSY = "The provider is receiving too many requests or the account's quota is used up. Try again later."
TOO_SLOW = "The provider took too long to answer."
TOO_LONG = "The conversation is too long for this model."
NOT_FOUND = "The provider does not know this model or address."
MOVED = "The provider's address points to another one, which is not followed."
BROKEN = "The provider failed. Try again later."
REFUSED = "The provider did not accept the request."

# What is logged as a code; a longer text, or one with spaces, could quote the prompt.
_CODE = re.compile(r"[\w.\[\]-]{1,64}", re.ASCII)


def failure(status: int | None, *words: object) -> ModelError:
    """Return the error to raise for a failed request.

    Args:
        status: the HTTP status; None if unknown.
        words: the error codes and types in the response.
    """
    hint = " ".join(word for word in map(str, words) if _CODE.fullmatch(word)).lower()
    error = _by_hint(hint) or _by_status(status)
    error.add_note(f"status {status}, {hint or 'no code'}")
    return error


def _by_hint(hint: str) -> ModelError | None:
    if "context_length" in hint or "exceed_context" in hint:
        return ModelError(TOO_LONG)
    if "rate_limit" in hint or "quota" in hint:
        return ModelError(TOO_BUSY, "provider_rate_limited")
    if "invalid_api_key" in hint or "authentication" in hint:
        return ModelError(REFUSED_KEY)
    return ModelError(TOO_SLOW, "provider_timeout") if "timeout" in hint else None


def _by_status(status: int | None) -> ModelError:
    match status:
        case 401 | 403:
            sentence, code = REFUSED_KEY, "provider_error"
        case 404:
            sentence, code = NOT_FOUND, "provider_error"
        case 429:
            sentence, code = TOO_BUSY, "provider_rate_limited"
        case 408 | 504:
            sentence, code = TOO_SLOW, "provider_timeout"
        case int() if 300 <= status < 400:
            sentence, code = MOVED, "provider_error"
        case int() if 400 <= status < 500:
            sentence, code = REFUSED, "provider_error"
        case _:
            sentence, code = BROKEN, "provider_error"
    return ModelError(sentence, code)


def failure_in_stream(reported: Any) -> ModelError:
    """Return the error to raise for an error object, or an error text, in a response with status 200."""
    if not isinstance(reported, dict):
        return failure(None)
    code = reported.get("code")
    status = reported.get("status") if isinstance(reported.get("status"), int) else code
    number = int(status) if isinstance(status, int | str) and re.fullmatch(r"[1-5][0-9]{2}", str(status)) else None
    return failure(number, code, reported.get("type"), reported.get("param"))

"""What all wire formats do with a failed request: make it a `ModelError`, mask its details, and log it."""

from __future__ import annotations

import logging
import socket
import ssl
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from assistant.core.llm.protocol import FailureDetails, ModelError, ModelRequest
from assistant.core.values.messages import Usage
from assistant.providers.failure_masking import masked
from assistant.providers.given_settings import InvalidSetting
from assistant.providers.openai_wire.error_sentences import BROKEN, TOO_SLOW, UNREACHABLE, UNUSABLE, request_id_in
from assistant.toolkit.guards.url_guard import UnsafeUrl
from assistant.toolkit.logs import request_id

log = logging.getLogger(__name__)


def as_model_error(exc: Exception) -> ModelError:
    """Return the `ModelError` for an exception, without its message: that can contain addresses, prompts and keys."""
    if isinstance(exc, ModelError):
        return exc
    if isinstance(exc, InvalidSetting):
        error = ModelError(UNUSABLE)
        error.details = FailureDetails(message=str(exc))
        return error
    causes = list(_causes(exc))
    if reason := _unreachable(causes):
        error = ModelError(UNREACHABLE, kind="down")
        error.details = FailureDetails(message=reason)
    elif any(isinstance(cause, TimeoutError) for cause in causes):
        error = ModelError(TOO_SLOW, "provider_timeout", kind="slow")
    else:
        error = ModelError(BROKEN, kind="down")
    place = traceback.extract_tb(exc.__traceback__)[-1]
    names = " from ".join(type(cause).__name__ for cause in causes)
    error.add_note(f"{names}, {Path(place.filename).name} line {place.lineno}")
    return error


def complete_error(
    error: ModelError,
    request: ModelRequest,
    *,
    provider: str,
    model: str,
    usage: Usage,
    headers: Mapping[str, str],
    key: str,
) -> None:
    """Add to an error what is known of the request, take keys and prompts out of its details, and log it.

    Args:
        usage: the tokens that the provider had counted until then.
        headers: of the response.
        key: that the request was made with; "" for none.
    """
    error.usage = usage
    details = error.details or FailureDetails()
    if not details.request_id:
        details = replace(details, request_id=request_id_in(headers))
    error.details = masked(details, request, keys=(key,) if key else ())
    log.warning("%s, model %s: %s (%s)", provider, model, error, error.cause)


def request_id_header() -> dict[str, str]:
    """Return a header with the request's id, so that the provider's log and this one can be compared.

    Source: https://platform.openai.com/docs/api-reference/debugging-requests
    """
    known = request_id()
    return {"X-Client-Request-Id": known} if known else {}


def _unreachable(causes: Iterable[BaseException]) -> str:
    """Return why no connection was made, in words without the address; "" if one was made, or that is not known."""
    for cause in causes:
        match cause:
            case UnsafeUrl():
                return str(cause)
            case socket.gaierror():
                return "its name has no address (DNS)"
            # aiohttp's exceptions are of these classes too, without the attributes, and have the original as cause.
            case ssl.SSLCertVerificationError(verify_message=message):
                return f"its certificate is not accepted: {message}"
            case ssl.SSLError(reason=reason):
                return f"no TLS connection was made: {reason}"
            case ConnectionRefusedError():
                return "it refuses connections"
    return ""


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    while exc is not None:
        yield exc
        exc = exc.__cause__ or exc.__context__

"""Maps a provider's HTTP status and error codes to errors with sentences that are safe to show to users."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from assistant.core.llm.protocol import PASSING, UNREAD, FailureDetails, ModelError
from assistant.providers.billing_sentences import is_unpaid
from assistant.providers.openai_wire.overflow_sentences import MAX_SEARCHED, is_overflow
from assistant.toolkit.translation import gettext_noop

NO_KEY = "OpenAI needs a key: set OPENAI_API_KEY, or the key of the provider in the admin."
REFUSED_KEY = gettext_noop("The provider refused the key.")
FORBIDDEN = gettext_noop("The provider does not allow this account to use this model or address.")
UNREACHABLE = gettext_noop("The provider cannot be reached. Try again later.")
TOO_BUSY = gettext_noop("The provider is receiving too many requests. Try again later.")
TOO_SLOW = gettext_noop("The provider took too long to answer.")
TOO_LONG = gettext_noop("The conversation is too long for this model.")
NOT_FOUND = gettext_noop("The provider does not know this model or address.")
MOVED = gettext_noop("The provider's address points to another one, which is not followed.")
BROKEN = gettext_noop("The provider failed. Try again later.")
REFUSED = gettext_noop("The provider did not accept the request.")
NO_CREDIT = gettext_noop("The provider's account has no credit left.")
UNUSABLE = gettext_noop("This assistant's model cannot be used here: an operator has to change its configuration.")
BLOCKED = gettext_noop("The provider's content filter blocked the question.")

# Where OpenAI, Anthropic, Azure, AWS and Cloudflare give their ids of requests.
REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid", "cf-ray")

# What is logged as a code; a longer text, or one with spaces, could quote the prompt.
_CODE = re.compile(r"[\w.\[\]-]{1,64}", re.ASCII)
# Codes of requests that would fail again, of errors in a stream, which have no status.
_NOT_WORTH_REPEATING = re.compile(
    r"invalid_(?:request|prompt|image|base64|value|type)|image_|_image|policy|content_filter|unsupported|not_supported"
    r"|model_not_found|missing_required|unknown_parameter"
)
# Groq's codes of the same, which gateways in front of it repeat in their sentences.
_UNREAD_CODE = re.compile(r"\btool_use_failed\b|\boutput_parse_failed\b")
# Groq's code of a typed answer that its model wrote wrongly.
_UNREAD_ANSWER = re.compile(r"\bjson_validate_failed\b")
# Sentences of servers that could not read a call that their model wrote, and give it no code.
_UNREAD_CALL = re.compile(
    r"(?:error|failed|unable|could not) (?:to )?pars(?:ing|e) (?:the )?(?:tool|function)[ _-]calls?"
    r"|(?:tool|function)[ _-]call arguments? (?:as|is not|are not|must be) (?:valid )?json",
    re.IGNORECASE,
)
# Codes and sentences of questions that a filter has blocked: Azure, DashScope, OpenRouter and others.
_BLOCKED_CODE = re.compile(
    r"content_?filter|content_policy|responsible_?ai|data_?inspection|moderation|prohibited_content"
)
_BLOCKED = re.compile(
    r"content (?:management|filter|policy|safety)|(?:was|been|is|input) flagged|inappropriate content|safety system",
    re.IGNORECASE,
)
# Sentences of servers that do not take an image or a PDF: a broken or large one, or any.
_BAD_FILE = re.compile(
    r"\bimages?\b|image_url|inline_?data|input_file|\bpdf|multi-?modal|mmproj|\bvision\b|media.?type|base64"
    r"|content\W{1,3}.{0,20}must be a string",
    re.IGNORECASE,
)
# The same where other failures could name an image too: in a stream, and with a status that says nothing.
_NO_FILES = re.compile(r"image input|mmproj|not a multi-?modal|process (?:input )?image", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]{0,200}>(.{0,300}?)</title>", re.DOTALL | re.IGNORECASE)
_RAW_CALL = re.compile(r"raw='(.{1,4000}?)', err=", re.DOTALL)
# Statuses after which the same request may soon succeed.
_PASSING = frozenset({408, 409, 429})
# Characters of a call that the provider could not read that the model is shown, to correct it.
MAX_FAILED_CALL = 4_000


def failure(
    status: int | None, *words: object, said: str = "", request_id: str = "", failed_call: object = None
) -> ModelError:
    """Return the error to raise for a failed request.

    Its `details` are the provider's own words, from which `failure_masking` has yet to take keys and texts of prompts.

    Args:
        status: the HTTP status; None if unknown.
        words: the error codes and types in the response.
        said: the provider's sentence.
        request_id: its id of the request.
        failed_call: what the model wrote, where the provider could not read a call.
    """
    codes = [word for word in map(str, words) if _CODE.fullmatch(word) and word != "None"]
    hint = " ".join(codes).lower()
    error = _by_hint(status, hint, said) or _by_status(status)
    code = ", ".join(dict.fromkeys(codes))
    error.details = FailureDetails(status, code, said, request_id)
    if error.kind in UNREAD:
        raw = _RAW_CALL.search(said[:MAX_FAILED_CALL])
        wrote = failed_call if isinstance(failed_call, str) else raw[1] if raw else ""
        error.failed_call = wrote[:MAX_FAILED_CALL]
    return error


def _by_hint(status: int | None, hint: str, said: str) -> ModelError | None:
    if _UNREAD_CODE.search(f"{hint} {said[:MAX_SEARCHED]}") or (
        status in (None, 400, 500) and _UNREAD_CALL.search(said[:MAX_SEARCHED])
    ):
        return ModelError(REFUSED, kind="bad_call")
    if _UNREAD_ANSWER.search(f"{hint} {said[:MAX_SEARCHED]}"):
        return ModelError(REFUSED, kind="bad_answer")
    if is_overflow(status, hint, said):
        code = "provider_rate_limited" if status == 429 else "provider_error"
        return ModelError(TOO_LONG, code, kind="too_long")
    if status in (None, 400, 403, 422) and (_BLOCKED_CODE.search(hint) or _BLOCKED.search(said[:MAX_SEARCHED])):
        return ModelError(BLOCKED)
    if is_unpaid(status, hint, said):
        return ModelError(NO_CREDIT, "provider_quota", kind="no_credit")
    if (_BAD_FILE if status in (400, 404, 415, 422) else _NO_FILES).search(said[:MAX_SEARCHED]):
        error = _by_status(status or 400)  # the same sentence as without this kind, if the conversation has no files
        error.kind = "bad_file"
        return error
    if "rate_limit" in hint or "quota" in hint:
        return ModelError(TOO_BUSY, "provider_rate_limited", kind="busy")
    if "invalid_api_key" in hint or "authentication" in hint:
        return ModelError(REFUSED_KEY)
    if "timeout" in hint:
        return ModelError(TOO_SLOW, "provider_timeout", kind="slow")
    return ModelError(REFUSED) if status is None and _NOT_WORTH_REPEATING.search(hint) else None


def _by_status(status: int | None) -> ModelError:
    match status:
        case 401:
            return ModelError(REFUSED_KEY)
        case 403:
            return ModelError(FORBIDDEN)
        case 404:
            return ModelError(NOT_FOUND)
        case 429 | 498:  # 498 is Groq's for a tier without room
            return ModelError(TOO_BUSY, "provider_rate_limited", kind="busy")
        case 408 | 504:
            return ModelError(TOO_SLOW, "provider_timeout", kind="slow")
        case int() if 300 <= status < 400:
            return ModelError(MOVED)
        case int() if 400 <= status < 500:
            return ModelError(REFUSED)
    return ModelError(BROKEN, kind="down")


def failure_of_response(status: int, body: object, headers: Mapping[str, str], *words: object) -> ModelError:
    """Return the error to raise for a response with an error status.

    Args:
        body: the error object in it, or its text.
        words: the error codes and types that are known otherwise.
    """
    if isinstance(body, list) and body and isinstance(body[0], dict) and "error" in body[0]:  # as Gemini does
        body = body[0]["error"]
        words = (*words, *(body.get(name) for name in ("code", "status"))) if isinstance(body, dict) else words
    return failure(status, *words, said=_said(body), request_id=request_id_in(headers), failed_call=_failed_call(body))


def failure_in_stream(reported: Any) -> ModelError:
    """Return the error to raise for an error object, or an error text, in a response with status 200.

    If it may pass, as a 503 may, it `is_worth_repeating`: the client repeats only requests whose status is an error.
    """
    if not isinstance(reported, dict):
        error = failure(None, said=_said(reported))
        error.is_worth_repeating = error.kind == "down"
        return error
    code = reported.get("code")
    number = status_in(reported.get("status"), code)
    words = code, reported.get("type"), reported.get("param")
    error = failure(number, *words, said=_said(reported), failed_call=_failed_call(reported))
    error.is_worth_repeating = error.kind in PASSING or (not error.kind and number in _PASSING)
    return error


def with_status(error: Any, status: Any) -> Any:
    """Return an error as a server reports it beside a status: a text becomes an object that has the status too."""
    return {"message": error, "status": status} if isinstance(error, str) and isinstance(status, int) else error


def status_in(*codes: object) -> int | None:
    """Return the first of a reported error's numbers that is an HTTP status; None if none is."""
    found = (str(code) for code in codes if isinstance(code, int | str))
    return next((int(code) for code in found if re.fullmatch(r"[1-5][0-9]{2}", code)), None)


def request_id_in(headers: Mapping[str, str]) -> str:
    """Return the provider's id of a request from the headers of its response; "" if it gives none."""
    return next((found for name in REQUEST_ID_HEADERS if (found := headers.get(name))), "")


def _said(reported: object) -> str:
    """Return the sentence of an error in any of the forms in which servers report it."""
    if isinstance(reported, Mapping):
        found = reported.get("message") or reported.get("detail") or reported.get("error") or ""
        return _said(found)
    if isinstance(reported, list):
        return "; ".join(filter(None, (_said_of_field(one) for one in reported[:5])))
    return _text_of_page(reported) if isinstance(reported, str) else ""


def _said_of_field(reported: object) -> str:
    """Return the sentence about one field of the request, with its path, as servers report it that use pydantic."""
    if not isinstance(reported, Mapping):
        return _said(reported)
    path = reported.get("loc")
    said = _said(reported.get("msg"))
    steps = [str(step)[:64] for step in path[:20]] if isinstance(path, list) else []
    return f"{'.'.join(steps)}: {said}" if steps and said else said


def _text_of_page(text: str) -> str:
    """Return the title of a page of HTML, as proxies answer with; any other text as it is."""
    if not text[:MAX_SEARCHED].lstrip().lower().startswith(("<!doctype", "<html")):
        return text
    title = _TITLE.search(text[:MAX_SEARCHED])
    return f"a web page: {' '.join(title[1].split())}" if title else "a web page"


def _failed_call(reported: object) -> object:
    return reported.get("failed_generation") if isinstance(reported, Mapping) else None

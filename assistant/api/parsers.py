"""Reads request bodies: strict JSON of bounded size, with text that every database can store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser

from assistant.api.authentication import HttpRefusal
from assistant.services.text import JSONOutOfBounds, read_json

MAX_BODY = 256 * 1024  # bytes
NOT_JSON = "The body is not valid JSON in UTF-8."


def object_of(request: HttpRequest) -> dict[str, Any]:
    """Return the body of a request as a JSON object. Raises `HttpRefusal` if it is not one, or cannot be stored."""
    try:
        body = request.body
    except RequestDataTooBig:
        raise too_large(MAX_BODY) from None
    parsed = parse_object(body)
    check_texts(parsed)
    return parsed


def too_large(most: int, *, beside: str = "") -> HttpRefusal:
    """Return the refusal of a body that holds more than `most` bytes, those of its member `beside` not counted."""
    what = f"A body holds at most {most} bytes beside {beside}." if beside else f"A body holds at most {most} bytes."
    return HttpRefusal(413, "too_large", what)


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse a body as a JSON object. Raises `HttpRefusal` if it is not one, or is too large."""
    if len(body) > MAX_BODY:
        raise too_large(MAX_BODY)
    try:
        parsed = read_json(body.decode())
    except JSONOutOfBounds as exc:
        raise HttpRefusal(400, "invalid_input", f"The body {exc}.") from None
    except ValueError:
        raise HttpRefusal(400, "invalid_input", NOT_JSON) from None
    if not isinstance(parsed, dict):
        raise HttpRefusal(400, "invalid_input", "The body must be a JSON object.")
    return parsed


def check_texts(value: Any) -> None:
    """Raise `HttpRefusal` if a string in a JSON value has a NUL or a lone surrogate, which databases cannot store."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, str) and ("\x00" in item or not _is_encodable(item)):
            raise HttpRefusal(400, "invalid_input", "A text must hold no NUL and no lone surrogate.")


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class StrictJSONParser(BaseParser):
    """Parses a body by `parse_object` and `check_texts`; an empty body is an empty object."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        body = stream.read(MAX_BODY + 1)
        parsed = parse_object(body) if body.strip() else {}
        check_texts(parsed)
        return parsed


class OneFormat(BaseContentNegotiation):
    """Always answers in JSON and ignores the Accept header."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        """Return the JSON parser for a JSON body, None for any other type."""
        kind = (request.content_type or "").partition(";")[0].strip().lower()
        return parsers[0] if kind in {"", "application/json"} or kind.endswith("+json") else None

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type

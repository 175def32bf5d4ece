"""Reads untrusted files as bundles."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _
from pydantic import ValidationError

from assistant.contrib.bundles.services.format import FORMAT, MAX_BYTES, VERSION, Bundle, BundleError, invalid
from assistant.contrib.bundles.services.parts import bundle_type
from assistant.services.text import JSONOutOfBounds, read_json


def read_bundle(content: bytes) -> Bundle:
    """Read an untrusted file.

    Raises:
        BundleError: it has more than `MAX_BYTES`, is not JSON in UTF-8, is of another version, or a value is missing,
            unknown or not allowed.
    """
    if len(content) > MAX_BYTES:
        raise BundleError("too_large", [_("The file has more than %(limit)d KiB.") % {"limit": MAX_BYTES // 1024}])
    try:
        value = read_json(text := content.decode("utf-8-sig"))
    except JSONOutOfBounds as exc:
        raise BundleError("invalid", [_("The file %(reason)s.") % {"reason": str(exc)}]) from None
    except ValueError:
        raise BundleError("not_json", [_("The file is not JSON in UTF-8.")]) from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise BundleError("invalid", [_("This is not a bundle: its format is not %(format)s.") % {"format": FORMAT}])
    if value.get("version") != VERSION or isinstance(value.get("version"), bool):
        raise BundleError("another_version", [_("Only bundles of version %(number)d are read.") % {"number": VERSION}])
    if not all(_is_storable(one) for one in _strings(value)):
        raise BundleError("invalid", [_("The file has characters that cannot be stored.")])
    try:
        return bundle_type().model_validate_json(text)
    except ValidationError as exc:
        raise invalid(exc) from None


def _is_storable(text: str) -> bool:
    """Whether a text has neither NUL nor halves of surrogate pairs, which databases do not store."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _strings(value: object) -> Iterable[str]:
    stack = [value]
    while stack:
        match stack.pop():
            case str() as text:
                yield text
            case dict() as found:
                yield from found
                stack.extend(found.values())
            case list() as found:
                stack.extend(found)

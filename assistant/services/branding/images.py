"""Finds the type and the size of an uploaded image from its bytes. Nothing is decoded.

Layouts: PNG (https://www.w3.org/TR/png-3/), JPEG (ITU-T T.81, annex B), WebP (RFC 9649), ICO as Windows has it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from django.utils.translation import gettext as _

from assistant.models.brand import MAX_IMAGE_BYTES, MAX_IMAGE_SIDE

Size = tuple[int, int]
# Markers that begin a frame of a JPEG and are followed by its size, and those that stand alone.
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
MAX_ICONS = 32


class ImageRefused(ValueError):
    """The file is not an image that a brand may have; the message can be shown."""


def check_image(data: bytes) -> str:
    """Return the media type of an image.

    Raises:
        ImageRefused: the file is too large, has too many pixels, or is no PNG, JPEG, WebP or ICO. SVG is none of these:
            it can contain scripts.
    """
    if len(data) > MAX_IMAGE_BYTES:
        raise ImageRefused(_("The file has more than %(limit)d KiB.") % {"limit": MAX_IMAGE_BYTES // 1024})
    for media_type, start, size_of in _TYPES:
        if data.startswith(start):
            try:
                sizes = size_of(data)
            except (struct.error, IndexError):
                break
            if not all(0 < side <= MAX_IMAGE_SIDE for size in sizes for side in size) or not sizes:
                sentence = _("The image must have 1 to %(limit)d pixels on each side.")
                raise ImageRefused(sentence % {"limit": MAX_IMAGE_SIDE})
            return media_type
    raise ImageRefused(_("This is no PNG, JPEG, WebP or ICO image. SVG is not taken, because it can contain scripts."))


def _png(data: bytes) -> list[Size]:
    length, kind, width, height = struct.unpack_from(">I4sII", data, 8)
    return [(width, height)] if (length, kind) == (13, b"IHDR") else [(0, 0)]


def _jpeg(data: bytes) -> list[Size]:
    at = 2
    while True:
        if data[at] != 0xFF:
            return [(0, 0)]
        marker = data[at + 1]
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return [(width, height)]
        if marker == 0xFF:
            at += 1
        elif marker in _ALONE:
            at += 2
        else:
            # A length counts its own two bytes; a smaller one would never end.
            at += 2 + max(2, struct.unpack_from(">H", data, at + 2)[0])


def _webp(data: bytes) -> list[Size]:
    kind = data[12:16]
    if data[8:12] != b"WEBP":
        return [(0, 0)]
    if kind == b"VP8X":
        return [(1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(_three(data, 27), "little"))]
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        return [(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))]
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return [(width & 0x3FFF, height & 0x3FFF)]
    return [(0, 0)]


def _three(data: bytes, at: int) -> bytes:
    if len(data) < at + 3:
        raise IndexError(at)
    return data[at : at + 3]


def _ico(data: bytes) -> list[Size]:
    count = struct.unpack_from("<H", data, 4)[0]
    if not 0 < count <= MAX_ICONS:
        return [(0, 0)]
    found: list[Size] = []
    for number in range(count):
        width, height, _colours, _zero, _planes, _bits, length, at = struct.unpack_from(
            "<BBBBHHII", data, 6 + 16 * number
        )
        # Zero is 256. An icon may be a PNG, whose own size then counts.
        is_png = data[at : at + 8] == _PNG
        found += _png(data[at : at + length]) if is_png else [(width or 256, height or 256)]
    return found


_PNG = b"\x89PNG\r\n\x1a\n"
_TYPES: tuple[tuple[str, bytes, Callable[[bytes], list[Size]]], ...] = (
    ("image/png", _PNG, _png),
    ("image/jpeg", b"\xff\xd8\xff", _jpeg),
    ("image/webp", b"RIFF", _webp),
    ("image/x-icon", b"\x00\x00\x01\x00", _ico),
)

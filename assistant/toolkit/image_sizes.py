"""Finds the size of an image in its first bytes. Nothing is decoded.

Layouts: PNG (https://www.w3.org/TR/png-3/), JPEG (ITU-T T.81, annex B), GIF89a, WebP (RFC 9649), ICO as Windows has it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

Size = tuple[int, int]
# Of all pixels: what decodes to more fills the memory of whoever shows it.
MAX_PIXELS = 50_000_000
# Markers that begin a frame of a JPEG and are followed by its size, and those that stand alone.
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
# Segments before a JPEG's size; an honest one has some dozens.
MAX_SEGMENTS = 10_000
# Blocks of a GIF, of 255 bytes at most (one of 20 MB has 82,000), and parts of a WebP.
MAX_BLOCKS = 200_000
MAX_ICONS = 32
_PNG = b"\x89PNG\r\n\x1a\n"


def sizes_of(data: bytes, media_type: str) -> list[Size]:
    """Return the width and height of an image, of an icon of each of its images.

    Returns:
        Nothing if its header cannot be read, or the type is not one of `IMAGE_TYPES`.
    """
    reader = _READERS.get(media_type)
    if reader is None:
        return []
    try:
        found = reader(data)
    except (struct.error, IndexError):
        return []
    return found if all(side > 0 for size in found for side in size) else []


def is_too_large(data: bytes, media_type: str) -> bool:
    """Return whether an image says that it has more than `MAX_PIXELS`."""
    return any(width * height > MAX_PIXELS for width, height in sizes_of(data, media_type))


def _png(data: bytes) -> list[Size]:
    length, kind, width, height = struct.unpack_from(">I4sII", data, 8)
    return [(width, height)] if (length, kind) == (13, b"IHDR") else [(0, 0)]


def _jpeg(data: bytes) -> list[Size]:
    at = 2
    for _ in range(MAX_SEGMENTS):
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
    return [(2**16, 2**16)]  # a size is hidden behind so many segments to be found by others only


def _gif(data: bytes) -> list[Size]:
    """Return the sizes of the screen and of frames beyond it: decoders enlarge the screen for them."""
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    found = [(width, height)]
    at = 13 + _colours(flags)
    is_in_blocks = False
    for _ in range(MAX_BLOCKS):
        if at >= len(data) or (data[at] == 0x3B and not is_in_blocks):
            return found
        if is_in_blocks:
            is_in_blocks = data[at] > 0
            at += 1 + data[at]
        elif data[at] == 0x21:
            at, is_in_blocks = at + 2, True
        elif data[at] == 0x2C and at + 10 <= len(data):
            left, top, frame_width, frame_height, flags = struct.unpack_from("<HHHHB", data, at + 1)
            if left + frame_width > width or top + frame_height > height:
                found.append((max(1, left + frame_width), max(1, top + frame_height)))
            at, is_in_blocks = at + 11 + _colours(flags), True
        else:
            at += 1  # decoders skip what they do not know
    return [(2**16, 2**16)]  # a frame may be hidden behind so many blocks


def _colours(flags: int) -> int:
    """Return the bytes of a GIF's table of colours."""
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _webp(data: bytes) -> list[Size]:
    """Return the sizes of the canvas, of frames and of what they hold."""
    if data[8:12] != b"WEBP":
        return [(0, 0)]
    if data[12:16] != b"VP8X":
        return [_webp_picture(data, 12) or (0, 0)]
    found = [(1 + _three(data, 24), 1 + _three(data, 27))]
    at = 30
    for _ in range(MAX_BLOCKS):
        if at + 8 > len(data):
            return found
        kind, length = struct.unpack_from("<4sI", data, at)
        if kind == b"ANMF":
            found.append((1 + _three(data, at + 14), 1 + _three(data, at + 17)))
            at += 24  # the frame's own parts follow
            continue
        picture = _webp_picture(data, at)
        if picture is not None:
            found.append(picture)
        at += 8 + length + length % 2
    return [(2**16, 2**16)]


def _webp_picture(data: bytes, at: int) -> Size | None:
    """Return the size that a part with pixels says; None if the part is another."""
    kind = data[at : at + 4]
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", data, at + 9)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, at + 14)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _three(data: bytes, at: int) -> int:
    if len(data) < at + 3:
        raise IndexError(at)
    return int.from_bytes(data[at : at + 3], "little")


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


_READERS: Mapping[str, Callable[[bytes], list[Size]]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
    "image/x-icon": _ico,
}
IMAGE_TYPES = tuple(_READERS)

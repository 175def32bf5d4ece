"""An image's type and size are found from its bytes, and nothing else is taken."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.contrib.branding.models import MAX_IMAGE_BYTES
from assistant.contrib.branding.services.images import ImageRefused, check_image


def png(width: int = 8, height: int = 8) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x06\x00\x00\x00"


def jpeg(width: int = 8, height: int = 8, *, filling: int = 0) -> bytes:
    begin = b"\xff\xd8\xff\xe0" + struct.pack(">H", 2 + filling) + b"x" * filling
    return begin + b"\xff\xc0" + struct.pack(">HBHH", 11, 8, height, width) + b"\x01\x01\x11\x00"


def webp(width: int = 8, height: int = 8) -> bytes:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8X" + struct.pack("<II", 10, 0) + sides


def lossless(width: int, height: int) -> bytes:
    bits = (width - 1) | (height - 1) << 14
    return b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8L" + struct.pack("<IBI", 9, 0x2F, bits)


def lossy(width: int, height: int) -> bytes:
    start = b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8 " + struct.pack("<I", 10)
    return start + b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height)


def ico(inside: bytes = b"", side: int = 16) -> bytes:
    return b"\x00\x00\x01\x00\x01\x00" + struct.pack("<BBBBHHII", side, side, 0, 0, 1, 32, len(inside), 22) + inside


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(), "image/png"),
        (jpeg(), "image/jpeg"),
        (jpeg(filling=400), "image/jpeg"),
        (webp(), "image/webp"),
        (lossless(300, 200), "image/webp"),
        (lossy(300, 200), "image/webp"),
        (ico(), "image/x-icon"),
        (ico(png(64, 64)), "image/x-icon"),
    ],
)
def test_images_are_taken(data: bytes, media_type: str) -> None:
    assert check_image(data) == media_type


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        SVG,
        b'<?xml version="1.0"?>' + SVG,
        b"GIF89a" + b"\x01" * 20,
        b"<html><script>alert(1)</script>",
        b"\x89PNG\r\n\x1a\n" + SVG,
        b"\xff\xd8\xff" + SVG,
        b"RIFF____WAVEfmt ",
        png(0, 8),
        png(8, 1025),
        png(2**31, 2**31),
        jpeg(5000, 5000),
        webp(16_000, 16_000),
        lossless(1025, 8),
        lossy(8, 1025),
        ico(png(4000, 4000)),
        b"\x00\x00\x01\x00\x00\x00",
        png() + b"x" * MAX_IMAGE_BYTES,
    ],
)
def test_everything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ImageRefused):
        check_image(data)


@given(st.sampled_from([png(), jpeg(filling=9), webp(), lossless(9, 9), lossy(9, 9), ico(png())]), st.data())
def test_a_broken_image_is_refused_or_bounded(image: bytes, data: st.DataObject) -> None:
    broken = bytearray(image[: data.draw(st.integers(0, len(image)))])
    for at in data.draw(st.lists(st.integers(0, max(0, len(broken) - 1)), max_size=4)) if broken else []:
        broken[at] = data.draw(st.integers(0, 255))
    with suppress(ImageRefused):
        assert check_image(bytes(broken)).startswith("image/")

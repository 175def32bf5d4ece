"""Images are stored under the ending of their type, and refused by their header if they would fill the memory."""

from __future__ import annotations

import struct

import pytest

from assistant.services.files.attachments import read_upload
from assistant.services.files.kinds import FileRefused
from assistant.services.files.limits import AttachmentLimits
from assistant.toolkit import Media, ToolError
from assistant.toolkit.image_sizes import MAX_SEGMENTS, sizes_of
from tests.services.files import samples

LIMITS = AttachmentLimits(frozenset({"image", "pdf", "docx", "text"}), 4, 5 * 1024**2, 0)


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x06\0\0\0"


def jpeg(width: int, height: int, segments: int = 3) -> bytes:
    filler = b"\xff\xe1" + struct.pack(">H", 4) + b"ab"
    return b"\xff\xd8" + filler * segments + b"\xff\xc0" + struct.pack(">HBHH", 11, 8, height, width) + b"\x01" * 20


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 20


def webp(width: int, height: int) -> bytes:
    sides = b"".join((side - 1).to_bytes(3, "little") for side in (width, height))
    return b"RIFF\x20\0\0\0WEBPVP8X" + struct.pack("<I", 10) + b"\0" * 4 + sides


MAKERS = {"image/png": png, "image/jpeg": jpeg, "image/gif": gif, "image/webp": webp}


def read(name: str, content: bytes) -> str:
    return read_upload(content=content, name=name, limits=LIMITS, uploader=samples.UPLOADER).name


@pytest.mark.parametrize("media_type", MAKERS)
def test_an_image_of_more_than_fifty_megapixels_is_refused_by_its_header(media_type: str) -> None:
    make = MAKERS[media_type]
    assert sizes_of(make(10_000, 5_000), media_type) == [(10_000, 5_000)]
    assert read("a", make(10_000, 5_000))
    with pytest.raises(FileRefused, match="at most 50 million pixels") as refused:
        read("a", make(10_001, 5_000))
    assert refused.value.code == "file_too_large"
    with pytest.raises(ToolError, match="50,000,000 pixels"):
        Media(make(10_001, 5_000), media_type)


def test_a_frame_of_a_gif_beyond_its_screen_counts() -> None:
    head = b"GIF89a" + struct.pack("<HHBBB", 10, 10, 0x80, 0, 0) + b"\0" * 6
    comment = b"\x21\xfe\x03,,,\0"
    small, large = (
        b"," + struct.pack("<HHHHB", 0, 0, side, side, 0x80) + b"\0" * 6 + b"\x02\x02\x4c\x01\0"
        for side in (10, 60_000)
    )
    assert sizes_of(head + comment + small + b";", "image/gif") == [(10, 10)]
    assert sizes_of(head + comment + small + comment + large + b";", "image/gif") == [(10, 10), (60_000, 60_000)]
    with pytest.raises(FileRefused, match="50 million pixels"):
        read("a.gif", head + large + b";")
    assert sizes_of(head + b"\x21\xfe" + b"\x01a" * 200_000, "image/gif") == [(2**16, 2**16)]


def test_a_frame_of_a_webp_counts_whatever_its_canvas_says() -> None:
    pixels = struct.pack("<4sIBI", b"VP8L", 5, 0x2F, 9_999 | 9_999 << 14) + b"\0"

    def frame(side: int, inner: bytes) -> bytes:
        sides = (side - 1).to_bytes(3, "little") * 2
        return struct.pack("<4sI6x", b"ANMF", 16 + len(inner)) + sides + b"\0" * 4 + inner

    small = pixels.replace(struct.pack("<I", 9_999 | 9_999 << 14), struct.pack("<I", 9 | 9 << 14))
    honest = webp(10, 10) + frame(10, small) * 3
    assert {*sizes_of(honest, "image/webp")} == {(10, 10)} and read("a.webp", honest)
    for hidden in (frame(10_000, small), frame(10, pixels), pixels):
        with pytest.raises(FileRefused, match="50 million pixels"):
            read("a.webp", honest + hidden)
    assert sizes_of(webp(10, 10) + b"EXIF\0\0\0\0" * 200_001, "image/webp") == [(2**16, 2**16)]


def test_a_size_that_is_hidden_or_cannot_be_read_is_refused() -> None:
    with pytest.raises(FileRefused, match="at most 50 million pixels"):
        read("a.jpg", jpeg(9, 9, segments=MAX_SEGMENTS + 1))
    for content in (png(0, 9), b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", jpeg(9, 9)[:20]):
        with pytest.raises(FileRefused, match="broken"):
            read("a", content)


@pytest.mark.parametrize(
    ("name", "content", "stored"),
    [
        ("photo.html", samples.PNG, "photo.png"),
        ("photo.svg", jpeg(9, 9), "photo.jpg"),
        ("photo.JPEG", jpeg(9, 9), "photo.JPEG"),
        ("photo", samples.PNG, "photo.png"),
        ("notes.md", b"Hello", "notes.md"),
    ],
)
def test_a_file_has_the_ending_of_its_type(name: str, content: bytes, stored: str) -> None:
    assert read(name, content) == stored


def test_so_has_a_file_of_a_tool() -> None:
    assert Media(png(9, 9), "image/png", name="sales.html").name == "sales.png"
    assert Media(jpeg(9, 9), "image/jpeg", name="sales.jpeg").name == "sales.jpeg"

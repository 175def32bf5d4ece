"""Images and other files that tools return, restricted in type and size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from assistant.toolkit.errors import ToolError
from assistant.toolkit.image_sizes import MAX_PIXELS, is_too_large
from assistant.toolkit.unknown_options import lists_options

# Limits of one result.
MAX_FILES = 8
MAX_BYTES = 5 * 1024 * 1024
MAX_BYTES_TOGETHER = 10 * 1024 * 1024
MAX_NAME = 100

# Types that pages show as images, and the first bytes of such files. SVG is left out: it can contain scripts.
IMAGE_STARTS: dict[str, re.Pattern[bytes]] = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}
ALLOWED_TYPES = (
    *IMAGE_STARTS,
    "application/pdf",
    "text/plain",
    "text/csv",
    "text/markdown",
    "application/json",
    "audio/wav",
    "audio/mpeg",
)
# The endings of names that fit types whose content is checked; the first is given to a name with another one.
ENDINGS: dict[str, tuple[str, ...]] = {
    "image/png": (".png",),
    "image/jpeg": (".jpg", ".jpeg"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "application/pdf": (".pdf",),
}
_UNSAFE_IN_NAMES = re.compile(r"[^\w.() -]+")


@lists_options
@dataclass(frozen=True, slots=True)
class Media:
    """A file that a tool returns: `Media(png, "image/png", name="sales.png")`, alone or in `ToolResult(media=...)`.

    Pages show images and offer other files for download. Models without image input read the name and `description`.

    Attributes:
        media_type: one of `ALLOWED_TYPES`; the first bytes of an image must match it.
        name: a file name; unsafe characters are replaced, and an empty one is derived from the type.
        description: the content in words.
    """

    data: bytes = field(repr=False)
    media_type: str
    name: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        given: object = self.data
        if not isinstance(given, bytes | bytearray | memoryview):
            told = "a text is text.encode()" if isinstance(given, str) else "an object with a file gives its read()"
            raise TypeError(f"The data of a Media are bytes, not {type(given).__name__}: {told}.")
        kind = self.media_type.partition(";")[0].strip().lower()
        if kind not in ALLOWED_TYPES:
            raise ToolError(f"The tool returned a file of type {kind[:60]!r}, which is not allowed.")
        if not self.data or len(self.data) > MAX_BYTES:
            raise ToolError(f"The tool returned a file of {len(self.data):,} bytes; allowed are 1 to {MAX_BYTES:,}.")
        start = IMAGE_STARTS.get(kind)
        if start is not None and not start.match(self.data):
            raise ToolError(f"The tool returned a file that was declared as {kind} but is not.")
        if is_too_large(self.data, kind):
            raise ToolError(f"The tool returned an image of more than {MAX_PIXELS:,} pixels.")
        safe = _UNSAFE_IN_NAMES.sub("_", self.name).strip(" .")[:MAX_NAME]
        object.__setattr__(self, "data", bytes(self.data))
        object.__setattr__(self, "media_type", kind)
        object.__setattr__(self, "name", with_own_ending(safe or f"file.{kind.rpartition('/')[2]}", kind))

    @property
    def is_image(self) -> bool:
        return self.media_type in IMAGE_STARTS

    @property
    def is_pdf(self) -> bool:
        return self.media_type == "application/pdf"

    @property
    def sentence(self) -> str:
        """The text about the file that the model reads."""
        about = f": {self.description.strip()}" if self.description.strip() else ""
        kind = "image" if self.is_image else "file"
        return f"[Attached {kind} {self.name!r} ({self.media_type}, {len(self.data):,} bytes){about}]"


def with_own_ending(name: str, media_type: str, endings: Mapping[str, tuple[str, ...]] = ENDINGS) -> str:
    """Return a file's name with an ending of its type: saved, a file is opened as what its name says."""
    own = endings.get(media_type)
    if own is None or name.lower().endswith(own):
        return name
    stem = PurePath(name).stem if PurePath(name).suffix else name
    return f"{stem}{own[0]}"


def checked(media: Iterable[Media]) -> tuple[Media, ...]:
    """Return the files of one result. Raises `ToolError` if they are not files, too many or too large together."""
    files = tuple(media)
    if not all(isinstance(file, Media) for file in files):
        raise ToolError("The tool's media are no Media values.")
    total = sum(len(file.data) for file in files)
    if len(files) > MAX_FILES or total > MAX_BYTES_TOGETHER:
        raise ToolError(
            f"The tool returned {len(files)} files of {total:,} bytes; "
            f"allowed are {MAX_FILES} of {MAX_BYTES_TOGETHER:,} bytes together."
        )
    return files


def media_in(value: object) -> tuple[Media, ...]:
    """Return the files if a value is a file or a list of files, else an empty tuple."""
    if isinstance(value, Media):
        return checked([value])
    if isinstance(value, list | tuple) and value and all(isinstance(item, Media) for item in value):
        return checked(value)
    return ()

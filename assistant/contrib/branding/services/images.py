"""Finds the type of an uploaded image of a brand from its bytes, and checks its size. Nothing is decoded."""

from __future__ import annotations

from django.utils.translation import gettext as _

from assistant.contrib.branding.models import MAX_IMAGE_BYTES, MAX_IMAGE_SIDE
from assistant.toolkit.image_sizes import sizes_of

_STARTS = (
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/webp", b"RIFF"),
    ("image/x-icon", b"\x00\x00\x01\x00"),
)


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
    for media_type, start in _STARTS:
        if data.startswith(start):
            sizes = sizes_of(data, media_type)
            if not all(side <= MAX_IMAGE_SIDE for size in sizes for side in size) or not sizes:
                sentence = _("The image must have 1 to %(limit)d pixels on each side.")
                raise ImageRefused(sentence % {"limit": MAX_IMAGE_SIDE})
            return media_type
    raise ImageRefused(_("This is no PNG, JPEG, WebP or ICO image. SVG is not taken, because it can contain scripts."))

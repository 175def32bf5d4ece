"""What a call leaves besides its answer, mails and files, and texts as a person could read them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from django.conf import settings
from django.core import mail
from django.core.mail import EmailMessage

# Runs of characters that may be a text in base64 or hexadecimal: tokens, signed addresses, files.
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{12,}")
_MAX_RUNS = 200
_AS_URL = str.maketrans("+/", "-_")


def readable(text: str) -> str:
    """Return a text in lower case, and what is encoded in it behind."""
    plain = unquote(text)
    return "\n".join([plain, *_decoded(plain)]).casefold()


def _decoded(text: str) -> Iterator[str]:
    for run in _ENCODED.findall(text)[:_MAX_RUNS]:
        for part in {run, *run.split("/")}:
            for decode in (_from_base64, bytes.fromhex):
                with suppress(ValueError):
                    yield decode(part).decode("latin-1")


def _from_base64(text: str) -> bytes:
    padding = "=" * (-len(text) % 4)
    return base64.urlsafe_b64decode(f"{text.translate(_AS_URL)}{padding}")


class Outgoing:
    """Mails and files that calls make. Both stay in the process and in a folder of the proof."""

    def __init__(self) -> None:
        self._known = set(_files())

    def taken(self) -> str:
        """Return the texts of mails and files since the last time, and throw them away."""
        outbox = getattr(mail, "outbox", [])
        mails = [
            f"{one.recipients()} {one.subject}\n{one.body}\n{one.attachments}{_alternatives(one)}" for one in outbox
        ]
        outbox.clear()
        made = [path for path in _files() if path not in self._known]
        texts = [f"{path.name}\n{path.read_bytes().decode('latin-1')}" for path in made]
        for path in made:
            path.unlink()
        return "\n".join([*mails, *texts])


def _alternatives(message: EmailMessage) -> list[Any]:
    return list(getattr(message, "alternatives", ()))


def _files() -> Iterator[Path]:
    yield from (path for path in Path(settings.MEDIA_ROOT).rglob("*") if path.is_file())

"""The files that the commands of exports write."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO

from django.core.management.base import CommandError


def write_export(path: Path, export: Callable[[IO[bytes]], dict[str, int]]) -> dict[str, int]:
    """Let `export` write a new file that only its owner can read; after a failure there is none.

    Raises:
        CommandError: the file exists already or cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        if path.exists():
            raise FileExistsError(f"The file {path} exists already.")
        with unfinished.open("xb") as file:
            unfinished.chmod(0o600)
            counts = export(file)
            file.flush()
            os.fsync(file.fileno())
        # Unlike `rename`, this does not replace a file that was made meanwhile.
        os.link(unfinished, path)
    except OSError as exc:
        raise CommandError(str(exc)) from exc
    finally:
        unfinished.unlink(missing_ok=True)
    return counts

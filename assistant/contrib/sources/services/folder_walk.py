"""Reads the files of a folder: no symbolic links, nothing hidden, nothing outside of the allowed folders."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from django.core.files.base import File
from django.utils.translation import gettext as _

from assistant.contrib.sources.models import MAX_ADDRESS
from assistant.contrib.sources.services.checking import PlaceRefused, allowed_folder, is_allowed
from assistant.contrib.sources.services.pages import Known, Page, Plan, Progress, SourceFailed
from assistant.services.files.reader_turns import Uploader
from assistant.services.knowledge.files import MAX_FILE_BYTES, DocumentError, read_file

# Entries of all folders together.
MAX_ENTRIES = 50_000


def files_of(plan: Plan, progress: Progress) -> list[tuple[str, Path]]:
    """Return the files of a folder with their paths within it, by name.

    Raises:
        SourceFailed: the folder is not there, may not be read, or has no files, as one that is not mounted.
    """
    try:
        folder = allowed_folder(plan.place)
        files = list(_inside(folder, "", plan.max_depth, progress, [0]))
    except PlaceRefused as exc:
        raise SourceFailed(str(exc)) from exc
    except OSError as exc:
        raise SourceFailed(_("The folder cannot be read.")) from exc
    if not files:
        raise SourceFailed(_("The folder has no files."))
    if len(files) > plan.max_pages:
        progress.problem = _("There are more than %(most)s files: the others are not read.") % {"most": plan.max_pages}
    return files[: plan.max_pages]


def _inside(
    folder: Path, within: str, depth: int, progress: Progress, entries: list[int]
) -> Iterator[tuple[str, Path]]:
    names: list[str] = []
    with os.scandir(folder) as listed:
        for entry in listed:
            entries[0] += 1
            if entries[0] > MAX_ENTRIES:
                progress.problem = _("The folder has too many entries: not all of them are read.")
                break
            if not entry.name.startswith(".") and not entry.is_symlink():
                names.append(entry.name)
    for name in sorted(names):
        path = folder / name
        if path.is_dir():
            if depth > 0:
                yield from _inside(path, f"{within}{name}/", depth - 1, progress, entries)
            else:
                progress.problem = _("Some folders are deeper than those that are read.")
        elif path.is_file():
            yield f"{within}{name}", path


def read_one(plan: Plan, address: str, path: Path) -> Page:
    """Return a file as it is now; blocks while it is parsed."""
    known = plan.known.get(address, Known())
    if len(address) > MAX_ADDRESS or not address.isprintable():
        return Page(address[:MAX_ADDRESS], "skipped", _("Its name cannot be used."))
    try:
        content, validator = _content(path, known.validator)
    except OSError:
        return Page(address, "skipped", _("The file cannot be read."))
    if content is None:
        return Page(address, "unchanged", validator=validator, digest=known.digest)
    digest = hashlib.sha256(content).hexdigest()
    if digest == known.digest:
        return Page(address, "unchanged", validator=validator, digest=digest)
    try:
        uploader = Uploader(f"tenant-{plan.tenant_id}", is_operator=True)
        read = read_file(File(BytesIO(content), name=path.name), uploader=uploader)
    except DocumentError as exc:
        return Page(address, "skipped", str(exc), has_changed=True)
    return Page(address, "read", content=read, validator=validator, digest=digest)


def _content(path: Path, validator: str) -> tuple[bytes | None, str]:
    """Return the bytes of a file and what tells whether it has changed; None of one that has not.

    Raises:
        OSError: it cannot be read, or is not what was listed: no file, or one outside of the allowed folders.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        # A folder above it may have been replaced by a link since it was listed.
        real = path.resolve()
        if not stat.S_ISREG(state.st_mode) or not is_allowed(real) or not os.path.samestat(real.stat(), state):
            raise OSError("not the file that was listed")
        found = f"{state.st_size}-{state.st_mtime_ns}"
        return (None if found == validator else file.read(MAX_FILE_BYTES + 1)), found

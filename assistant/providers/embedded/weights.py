"""The embedded model's weights: which file it is, where it is cached, and how it is verified."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MODEL_NAME = "qwen2.5-coder-1.5b-instruct"
_CHUNK = 4 * 1024 * 1024


class WeightsError(Exception):
    """The weights are missing or wrong; the text says what to do about it."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A file of weights: `size` in bytes, `sha256` in hexadecimal digits."""

    filename: str
    size: int
    sha256: str


QWEN = Weights(
    filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)


def cache_directory() -> Path:
    """Return the user's cache directory for this product, following the XDG base directory specification."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "tenant-assistant"


def find(weights: Weights = QWEN, *, path: Path | None = None, cache: Path | None = None) -> Path | None:
    """Find a file of the right size: at `path` if given, else in the cache; None if there is none.

    Raises:
        WeightsError: `path` is given, and there is no file of the right size.
    """
    if path is not None:
        if not path.is_file():
            raise WeightsError(f"ASSISTANT_LOCAL_MODEL_PATH names {path}, and there is no such file.")
        if path.stat().st_size != weights.size:
            raise WeightsError(
                f"ASSISTANT_LOCAL_MODEL_PATH names {path}, which has {path.stat().st_size:,} bytes; "
                f"{weights.filename} has {weights.size:,}."
            )
        return path
    cached = (cache or cache_directory()) / weights.filename
    return cached if cached.is_file() and cached.stat().st_size == weights.size else None


def verify(
    path: Path, weights: Weights = QWEN, *, cache: Path | None = None, progress: Callable[[int], None] = lambda _: None
) -> None:
    """Check a file against its SHA-256. A verified file is not read again until it changes.

    Args:
        path: the file.
        cache: the directory to record verified files in; default the user's cache directory.
        progress: called with the number of bytes read so far.

    Raises:
        WeightsError: the checksum is wrong.
    """
    record = (cache or cache_directory()) / "verified.json"
    stat = path.stat()
    file_mark = f"{stat.st_size} bytes of {stat.st_mtime_ns}"  # does not change when the file is moved
    known = _read_marks(record)
    if file_mark in known.get(weights.sha256, []):
        return
    digest = _sha256(path, progress)
    if digest != weights.sha256:
        raise WeightsError(f"{path} is not {weights.filename}: its SHA-256 is {digest}, not {weights.sha256}.")
    known.setdefault(weights.sha256, []).append(file_mark)
    record.parent.mkdir(parents=True, exist_ok=True)
    new_record = record.with_suffix(f".{os.getpid()}.new")
    new_record.write_text(json.dumps(known))
    new_record.replace(record)


def _read_marks(path: Path) -> dict[str, list[str]]:
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) and all(isinstance(marks, list) for marks in known.values()) else {}


def _sha256(path: Path, progress: Callable[[int], None]) -> str:
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            progress(done)
    return digest.hexdigest()

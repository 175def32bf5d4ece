"""README.md and the pages of a checkout, block by block, in a fresh copy: nothing is set but what they say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from assistant.contrib.docs.documents import contents
from tests.docs.reader import Reader
from tests.docs.snippets import ROOT, Block, blocks
from tests.fake_provider import FakeProvider
from tests.host_matrix.record import table

DOCS = ROOT / "docs"
FOUR = ("try-it", "first-tool", "into-your-project", "go-live")
# What a reader of a checkout follows, one after the other; the two pages between are for a project.
FOLLOWED = (ROOT / "README.md", DOCS / "try-it.md", DOCS / "first-tool.md", DOCS / "service.md")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that git knows or would add, and the environment of the tests in place of what `make` would install."""
    folder = tmp_path / "checkout"
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    for name in names:
        if not name.startswith(("tests/", "benchmarks/")) and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for lock in folder.glob("requirements*.txt"):
        os.utime(lock, (0, 0))  # older than the stamp of what is installed
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def follow(block: Block, reader: Reader) -> str:
    """Do what a block says; return what it printed."""
    if block.language == "python" and block.words:
        (reader.folder / block.words[0]).write_text(block.text)
    elif block.language == "python":
        (reader.folder / "script.py").write_text(block.text)
        return reader.run("python script.py")
    elif "serve" in block.words:
        with reader.serving(block.text) as process:
            if "make dev" in block.text:
                assert process.stdout
                (reader.folder / "tools/seats.py").touch()
                assert any("seats.py" in line for line in process.stdout)
    elif block.text != "make test\n":  # .ci/run does that
        return reader.run(block.text, keeps="choice" not in block.words)
    return ""


@pytest.mark.once
@pytest.mark.timeout(600)
def test_every_block_works_in_a_fresh_directory(checkout: Path, fake_provider: FakeProvider) -> None:
    fake_provider.call("count_seats", {"team": "sales"})
    fake_provider.reply("25 seats.")
    fake_provider.call("calculate", {"expression": "17% of 1250"})
    fake_provider.reply("212.5")
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    # The server of the tests stands in for the reader's provider, and no model is downloaded.
    reader = Reader(checkout, kept | {"OPENAI_BASE_URL": fake_provider.url, "MODEL": "none"})
    told = [follow(block, reader) for page in FOLLOWED for block in blocks(page, "sh", "python")]
    assert "25 seats.\n" in told
    results = [message["content"] for one in fake_provider.requests for message in one.messages[-1:]]
    assert "25 seats are free for sales." in results and any("212.5" in result for result in results)
    assert any("212.5" in text and "ta_" in text for text in told)


def test_four_pages_come_first_and_each_leads_to_the_next() -> None:
    assert tuple(one.slug for one in contents()[0].documents)[:4] == FOUR
    readme = (ROOT / "README.md").read_text()
    places = [readme.index(f"(docs/{page}.md)") for page in FOUR]
    assert places == sorted(places)
    for page, following in pairwise(FOUR):
        assert re.search(rf"Next: \[[^]]+\]\({following}\.md\)\.\s*$", (DOCS / f"{page}.md").read_text())


def test_a_beginner_reads_few_words() -> None:
    pages = (ROOT / "README.md", *(DOCS / f"{page}.md" for page in FOUR))
    # The projects in which it was tried are looked up, not read.
    texts = [page.read_text().replace(table(), "") for page in pages]
    assert sum(len(text.split()) for text in texts) < 1_800

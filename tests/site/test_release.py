"""A release holds what it should, is the same whenever it is built, and is published of a tagged commit only."""

from __future__ import annotations

import io
import re
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT
from tests.host_project.bare import build
from tests.site import release_contents
from tests.site.release_contents import STEM, expected_sdist, expected_wheel, problems, untagged

pytestmark = pytest.mark.once
WHEEL, SDIST = f"{STEM}-py3-none-any.whl", f"{STEM}.tar.gz"
MAKEFILE = (ROOT / "Makefile").read_text()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    """The release again, to be spoilt."""
    return Path(shutil.copytree(built, tmp_path / "dist"))


def test_a_release_holds_the_files_of_the_checkout(built: Path) -> None:
    assert list(problems(built)) == []
    wheel, sdist = expected_wheel(), expected_sdist()
    assert {"assistant/apps.py", "assistant/docs/try-it.md", "assistant/contrib/demo/project/tools/__init__.py"} <= {
        *wheel
    }
    assert not any(name.startswith(("tests/", "benchmarks/", ".")) for name in (*wheel, *sdist))


def test_it_is_the_same_whenever_it_is_built(built: Path, tmp_path: Path) -> None:
    build(tmp_path)
    assert {name: (tmp_path / name).read_bytes() == (built / name).read_bytes() for name in (WHEEL, SDIST)} == {
        WHEEL: True,
        SDIST: True,
    }


def test_a_file_too_many_is_named(copy: Path) -> None:
    with zipfile.ZipFile(copy / WHEEL, "a") as archive:
        archive.writestr("config/settings.py", "")
    assert [told.partition(",")[0] for told in problems(copy)] == ["The wheel has config/settings.py"]


def test_a_file_too_few_and_one_that_differs_are_named(copy: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(copy / WHEEL) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    del files["assistant/apps.py"]
    files["assistant/checks.py"] += b"#"
    with zipfile.ZipFile(copy / WHEEL, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    assert list(problems(copy)) == [
        "The wheel lacks assistant/apps.py.",
        "The wheel has another assistant/checks.py than the checkout.",
    ]


def test_the_source_distribution_is_looked_at_too(copy: Path) -> None:
    with tarfile.open(copy / SDIST, "w:gz") as packed:
        entry = tarfile.TarInfo(f"{STEM}/.env")
        entry.size = 1
        packed.addfile(entry, io.BytesIO(b"x"))
    told = list(problems(copy))
    assert "The source distribution lacks README.md." in told
    assert "The source distribution has .env, which is no file of the checkout that belongs there." in told


def test_a_folder_without_a_release_is_refused(tmp_path: Path) -> None:
    (told,) = problems(tmp_path)
    assert WHEEL in told and SDIST in told


def test_only_a_tagged_commit_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(release_contents.PROJECT, "version", "99.9")
    assert "The commit has no tag v99.9." in list(untagged())


def test_the_rehearsal_does_each_step_and_only_publishing_signs_and_uploads() -> None:
    targets = dict(re.findall(r"^(release|publish):.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE))
    for step in (
        "twine check --strict",
        "tests.site.release_contents",
        "venv --without-pip",
        "tenant-assistant",
        "SHA256SUMS",
    ):
        assert step in targets["release"]
    assert "upload" not in targets["release"] and "sign" not in targets["release"]
    steps = [targets["publish"].index(step) for step in ("--tagged", "pypi-attestations sign", "upload --attestations")]
    assert steps == sorted(steps)

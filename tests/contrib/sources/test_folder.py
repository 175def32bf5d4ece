"""Folders: files become documents, and nothing that lies outside of the allowed folders does."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from assistant.contrib.sources.models import Source
from assistant.contrib.sources.services import folder_walk
from assistant.contrib.sources.services.checking import PlaceRefused, check_source
from assistant.models import Document
from tests.base import Cast
from tests.contrib.sources.conftest import read

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    root = tmp_path / "root"
    (root / "rules").mkdir(parents=True)
    (root / "rules" / "returns.md").write_text("# Returns policy\n\nThirty days.")
    (root / "opening_hours.txt").write_text("At nine.")
    (root / ".hidden.txt").write_text("Secret.")
    (tmp_path / "secret.txt").write_text("Secret.")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "linked").symlink_to(tmp_path)
    settings.ASSISTANT_SOURCE_FOLDERS = [str(root)]
    return root


@pytest.fixture
def files(folder: Path, cast: Cast) -> Source:
    return Source.objects.create(tenant=cast.acme, kind="folder", place=str(folder))


def titles() -> list[str]:
    return sorted(Document.objects.values_list("title", flat=True))


def test_files_become_documents_and_hidden_ones_and_links_do_not(files: Source, cast: Cast) -> None:
    assert read(files) == {"added": 2}
    assert titles() == ["Returns policy", "opening hours"]
    assert not Document.objects.exclude(tenant=cast.acme).exists()


def test_what_has_changed_is_replaced_and_what_is_gone_is_removed_in_the_end(files: Source, folder: Path) -> None:
    read(files)
    key = Document.objects.get(title="Returns policy").pk
    (folder / "rules" / "returns.md").write_text("# Returns policy\n\nForty days.")
    (folder / "opening_hours.txt").unlink()
    assert read(files) == {"replaced": 1, "missing": 1}
    assert "Forty" in Document.objects.get(pk=key).text
    assert read(files) == {"unchanged": 1, "removed": 1}
    assert titles() == ["Returns policy"]


def test_a_folder_that_is_empty_or_not_there_removes_nothing(files: Source, folder: Path) -> None:
    read(files)
    moved = folder.rename(folder.with_name("moved"))
    assert read(files) == {} and files.state == "failed"
    folder.mkdir()
    assert read(files) == {} and files.problem == "The folder has no files."
    folder.rmdir()
    moved.rename(folder)
    assert read(files) == {"added": 0, "unchanged": 2} or read(files) == {"unchanged": 2}


def test_a_file_that_cannot_be_read_is_said_and_its_document_stays(files: Source, folder: Path) -> None:
    read(files)
    (folder / "opening_hours.txt").write_bytes(b"\xff\xfe\x00\xd8")
    (folder / "a.pdf").write_bytes(b"no PDF at all")
    assert read(files)["skipped"] == 2
    assert titles() == ["Returns policy", "opening hours"]
    assert {address for _outcome, address, _about in files.report["lines"]} == {"a.pdf", "opening_hours.txt"}


@pytest.mark.parametrize("place", ["{root}/..", "{root}/linked", "/etc", "rules", "{root}\x00", "{root}/none", "/"])
def test_folders_outside_of_the_allowed_ones_are_refused_in_one_sentence(folder: Path, cast: Cast, place: str) -> None:
    source = Source(tenant=cast.acme, kind="folder", place=place.format(root=folder))
    with pytest.raises(PlaceRefused, match="no such folder below"):
        check_source(source)
    source.save()
    if "\x00" not in place:
        assert read(source) == {} and source.state == "failed" and titles() == []


def test_without_the_setting_no_folder_is_read(files: Source, settings: Any) -> None:
    settings.ASSISTANT_SOURCE_FOLDERS = []
    assert read(files) == {} and titles() == []


def test_a_folder_that_became_a_link_since_it_was_listed_is_not_read(
    files: Source, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = folder_walk.files_of

    def then_replaced(*arguments: Any) -> Any:
        found = listed(*arguments)
        (folder / "rules").rename(tmp_path / "rules")
        (folder / "rules").symlink_to(tmp_path / "rules")
        return found

    monkeypatch.setattr("assistant.contrib.sources.services.refreshing.files_of", then_replaced)
    assert read(files) == {"added": 1, "skipped": 1}
    assert titles() == ["opening hours"]


def test_depth_files_and_entries_are_bounded(files: Source, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.max_depth = 0
    files.save()
    assert read(files) == {"added": 1} and files.state == "partly"
    files.max_depth = 5
    files.max_pages = 1
    files.save()
    assert read(files) == {"unchanged": 1} and "more than 1 files" in files.problem
    monkeypatch.setattr(folder_walk, "MAX_ENTRIES", 1)
    read(files)
    assert "too many entries" in files.problem


def test_the_command_reads_now_and_says_what_it_did(files: Source, folder: Path) -> None:
    out = StringIO()
    call_command("assistant_refresh_sources", "acme", stdout=out)
    assert "added     rules/returns.md: Returns policy" in out.getvalue() and "2 added." in out.getvalue()
    folder.rename(folder.with_name("moved"))
    with pytest.raises(CommandError, match="1 of 1 could not be read"):
        call_command("assistant_refresh_sources", "acme", stdout=out)
    with pytest.raises(CommandError, match="no such folder or website"):
        call_command("assistant_refresh_sources", "globex", stdout=out)

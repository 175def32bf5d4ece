"""`assistant_add_documents`: folders become documents, again and again, with a line about each file."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from assistant.models import AuditEntry, Document
from assistant.services.knowledge import folders
from assistant.services.knowledge.full_text import search
from assistant.services.knowledge.reach import whole_reach
from tests.base import Cast


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "returns.md").write_text("# Returns policy\n\nThirty days.")
    (tmp_path / "opening_hours.txt").write_text("At nine.")
    (tmp_path / ".hidden.txt").write_text("Secret.")
    (tmp_path / "link.txt").symlink_to("/etc/hostname")
    return tmp_path


def add(*arguments: object) -> str:
    out = StringIO()
    call_command("assistant_add_documents", "acme", *map(str, arguments), stdout=out)
    return out.getvalue()


def rows(cast: Cast) -> list[tuple[str, str, bool]]:
    return list(cast.acme.documents.order_by("title").values_list("title", "filename", "is_trusted"))


def test_the_files_of_a_folder_become_documents_of_the_tenant_alone(cast: Cast, folder: Path) -> None:
    assert "2 added." in add(folder)
    assert rows(cast) == [("Returns policy", "returns.md", False), ("opening hours", "opening_hours.txt", False)]
    assert search(reach=whole_reach(cast.acme.pk), queries=["thirty days"], limit=5)
    assert not Document.objects.exclude(tenant=cast.acme).exists()
    entries = AuditEntry.objects.filter(tenant=cast.acme, action="document.add")
    assert {entry.target for entry in entries} == {"Returns policy", "opening hours"}


def test_adding_again_replaces_what_has_changed_and_leaves_the_rest(cast: Cast, folder: Path) -> None:
    add(folder)
    (folder / "rules" / "returns.md").write_text("# Returns and refunds\n\nForty days.")
    before = {row.title: row.pk for row in cast.acme.documents.all()}
    assert "1 replaced, 1 unchanged." in add(folder)
    assert {row.title: row.pk for row in cast.acme.documents.all()} == {
        "Returns and refunds": before["Returns policy"],
        "opening hours": before["opening hours"],
    }
    assert not search(reach=whole_reach(cast.acme.pk), queries=["thirty"], limit=5)
    assert "2 replaced." in add(folder, "--trusted")
    assert all(is_trusted for *_, is_trusted in rows(cast))


def test_files_of_one_name_in_two_folders_replace_none_of_each_other(cast: Cast, folder: Path) -> None:
    (folder / "prices").mkdir()
    (folder / "prices" / "returns.md").write_text("# Price of returns\n\nTwo euros.")
    (folder / "rules" / "again.md").write_text("# Price of returns\n\nThree euros.")
    with pytest.raises(CommandError, match="1 of 4 files were refused"):
        add(folder)
    (folder / "rules" / "again.md").unlink()
    assert [title for title, *_ in rows(cast)] == ["Price of returns", "Returns policy", "opening hours"]
    assert "3 unchanged." in add(folder)


def test_a_document_of_another_tenant_with_the_title_stays(cast: Cast, folder: Path) -> None:
    theirs = Document.objects.create(tenant=cast.globex, title="Returns policy", text="Theirs.", filename="returns.md")
    add(folder)
    theirs.refresh_from_db()
    assert theirs.text == "Theirs."


def test_what_cannot_be_read_is_said_and_the_others_are_added(cast: Cast, folder: Path) -> None:
    (folder / "a.pdf").write_bytes(b"no PDF at all")
    (folder / "b.txt").write_bytes(b" \n ")
    out = StringIO()
    with pytest.raises(CommandError, match="2 of 4 files were refused") as raised:
        call_command("assistant_add_documents", "acme", str(folder), stdout=out)
    assert raised.value.returncode == 1
    assert "a.pdf: " in out.getvalue() and "The document has no text" in out.getvalue()
    assert len(rows(cast)) == 2


def test_too_many_files_and_missing_paths_are_refused_before_anything(
    cast: Cast, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandError, match="There is no "):
        add(folder, folder / "none")
    monkeypatch.setattr(folders, "MAX_FILES", 1)
    with pytest.raises(CommandError, match="more than 1 files"):
        add(folder)
    assert rows(cast) == []

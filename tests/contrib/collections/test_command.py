"""`assistant_add_documents --collection`: documents are in the collection before anybody else can find them."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from assistant.contrib.collections.models import CollectedDocument, Collection
from assistant.models import AuditEntry
from tests.base import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(cast: Cast) -> Collection:
    Collection.objects.create(tenant=cast.globex, name="Theirs")
    return Collection.objects.create(tenant=cast.acme, name="Staff", roles=["admin"])


def add(path: Path, *arguments: str) -> str:
    out = StringIO()
    call_command("assistant_add_documents", "acme", str(path), *arguments, stdout=out)
    return out.getvalue()


def places() -> list[tuple[str, str]]:
    return list(
        CollectedDocument.objects.order_by("document__title").values_list("document__title", "collection__name")
    )


def test_new_replaced_and_unchanged_files_are_put_into_it(cast: Cast, staff: Collection, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# First\n\nText.")
    (tmp_path / "b.md").write_text("# Second\n\nText.")
    add(tmp_path)
    assert places() == []
    (tmp_path / "a.md").write_text("# First\n\nMore text.")
    (tmp_path / "c.md").write_text("# Third\n\nText.")
    assert "1 added, 1 replaced, 1 unchanged." in add(tmp_path, "--collection", "Staff")
    assert places() == [("First", "Staff"), ("Second", "Staff"), ("Third", "Staff")]
    assert AuditEntry.objects.filter(tenant=cast.acme, action="collection.place", target="Staff").count() == 3


def test_without_it_documents_stay_where_they_are(staff: Collection, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# First\n\nText.")
    add(tmp_path, "--collection", "Staff")
    (tmp_path / "a.md").write_text("# First\n\nOther text.")
    add(tmp_path)
    assert places() == [("First", "Staff")]


@pytest.mark.parametrize("name", ["None of ours", "Theirs"])
def test_a_collection_that_the_tenant_lacks_adds_nothing(
    cast: Cast, staff: Collection, tmp_path: Path, name: str
) -> None:
    (tmp_path / "a.md").write_text("# First\n\nText.")
    with pytest.raises(CommandError, match=f"There is no collection “{name}”.") as refused:
        add(tmp_path, "--collection", name)
    assert refused.value.returncode == 2 and not cast.acme.documents.exists() and places() == []

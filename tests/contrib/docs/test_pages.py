"""The documents as pages of the site: all exist, links work, and the Content-Security-Policy is respected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client

from assistant.contrib.docs import documents
from assistant.contrib.docs.documents import contents, find_document
from assistant.contrib.docs.search import search_documents
from tests.docs.snippets import DECISIONS, DOCUMENTS

pytestmark = pytest.mark.django_db


def slug_of(name: str) -> str:
    return name.removesuffix(".md").lower()


@pytest.mark.parametrize("name", [path.name for path in (*DOCUMENTS, *DECISIONS)])
def test_a_document_is_a_page(name: str, client: Client) -> None:
    answer = client.get(f"/docs/{slug_of(name)}/")
    assert answer.status_code == 200
    html = answer.content.decode()
    assert re.search(r'<h1 id="[\w-]+">', html)
    assert "<style" not in html and " style=" not in html and "<script>" not in html


def test_every_document_is_in_the_contents() -> None:
    listed = {document.slug for group in contents() for document in group.documents}
    assert listed == {slug_of(path.name) for path in DOCUMENTS} - {"index"}


@pytest.mark.parametrize("name", [path.name for path in (*DOCUMENTS, *DECISIONS)])
def test_links_lead_to_pages(name: str, client: Client) -> None:
    document = find_document(slug_of(name))
    assert document is not None
    targets = re.findall(r'(?:href|src)="(/docs/[^"#]*)(?:#([\w-]+))?"', document.html)
    for path, anchor in targets:
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert not anchor or f'id="{anchor}"' in answer.content.decode(), f"{path}#{anchor}"
    assert not re.search(r'(?:href|src)="(?!https?://|/docs/|#|/)', document.html)


def test_cells_are_named_by_their_columns_where_there_are_more_than_two(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(documents, "FOLDER", tmp_path)
    (tmp_path / "news.md").write_text("|A|`B`||\n|-|-|-|\n|1|2|3|\n\n|C|D|\n|-|-|\n|4|5|\n")
    document = find_document("news")
    assert document is not None
    cells = re.findall(r"<td(.*)>(.)</td>", document.html)
    assert cells == [("", "1"), (' data-column="B"', "2"), ("", "3"), ("", "4"), ("", "5")]


@pytest.mark.parametrize("path", ["nothing", "README", "nothing.md"])
def test_an_unknown_document_is_not_found(path: str, client: Client) -> None:
    assert client.get(f"/docs/{path}/").status_code == 404


@pytest.mark.parametrize("path", ["images/none.png", "images/..%2F..%2F.env", "images/chat.txt"])
def test_an_unknown_image_is_not_found(path: str, client: Client) -> None:
    assert client.get(f"/docs/{path}").status_code == 404


def test_a_changed_document_is_rendered_again(client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(documents, "FOLDER", tmp_path)
    (tmp_path / "news.md").write_text("# One")
    assert find_document("news").title == "One"  # type: ignore[union-attr]
    (tmp_path / "news.md").write_text("# Two, later")
    assert find_document("news").title == "Two, later"  # type: ignore[union-attr]


def test_a_search_finds_passages_with_all_words(client: Client) -> None:
    html = client.get("/docs/search/", {"q": "Idempotency-Key conflict"}).content.decode()
    first = re.search(r'<ol class="found"><li><a href="(/docs/[\w-]+/)#([\w-]+)">', html)
    assert first is not None
    page = client.get(first[1]).content.decode()
    assert f'id="{first[2]}"' in page
    assert "<mark>Idempotency-Key</mark>" in html


def test_a_heading_counts_more_than_a_mention() -> None:
    assert search_documents("back restore")[0].passage.title == "Back up and restore"
    assert search_documents("back xyzzy") == []


def test_the_excerpt_is_around_the_rarest_word() -> None:
    excerpts = ["".join(text for text, _ in one.excerpt).lower() for one in search_documents("the idempotency-key")]
    assert excerpts and all("idempotency-key" in excerpt for excerpt in excerpts)


@pytest.mark.parametrize("query", ["", "   ", "<script>alert(1)</script>", "\x00", "(", "a" * 5000, "é 漢 \u202e"])
def test_any_query_has_a_page(client: Client, query: str) -> None:
    answer = client.get("/docs/search/", {"q": query})
    assert answer.status_code == 200
    assert b"<script>" not in answer.content


def test_every_passage_has_its_anchor() -> None:
    passages = [(one, passage) for group in contents() for one in group.documents for passage in one.passages[1:]]
    assert passages
    assert [passage.title for one, passage in passages if f'id="{passage.anchor}"' not in one.html] == []


def test_the_documentation_is_in_english_whatever_is_asked_for(client: Client) -> None:
    page = client.get("/docs/", headers={"accept-language": "ar"}).content.decode()
    assert '<html class="tenant-assistant" lang="en" dir="ltr"' in page

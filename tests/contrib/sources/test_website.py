"""Websites: pages below the first one become documents, are replaced when they change, and go when they are gone."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.contrib.sources.models import Source, SourcePage
from assistant.contrib.sources.services import site_walk
from assistant.contrib.sources.services.changes import changed_later, remove_missing
from assistant.models import AuditEntry, Document
from assistant.services.knowledge.documents import add_document
from assistant.services.knowledge.files import Content, DocumentError
from assistant.services.knowledge.folders import store_content
from assistant.services.knowledge.full_text import search
from assistant.services.knowledge.reach import whole_reach
from tests.base import Cast
from tests.contrib.sources.conftest import Website, read

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pages(website: Website) -> Website:
    website.page(
        "/docs/", "Handbook", "Welcome.", "parking", "/docs/pets#dogs", "/other", "https://example.com/", ETag='"1"'
    )
    website.page("/docs/parking", "Parking", "Cars stand in the yard.", "/docs/", ETag='"1"')
    website.page("/docs/pets", "Pets", "Dogs are welcome.")
    website.page("/other", "Other", "Not of the handbook.")
    return website


def titles(cast: Cast) -> list[str]:
    return sorted(cast.acme.documents.values_list("title", flat=True))


def about(source: Source, outcome: str) -> list[str]:
    return [said for kind, _address, said in source.report["lines"] if kind == outcome]


def test_pages_below_the_first_one_become_documents_of_the_tenant_alone(
    pages: Website, source: Source, cast: Cast
) -> None:
    assert read(source) == {"added": 3}
    assert titles(cast) == ["Handbook", "Parking", "Pets"]
    assert not Document.objects.exclude(tenant=cast.acme).exists()
    parking = Document.objects.get(title="Parking")
    assert parking.text.startswith("# Parking") and "Cars stand in the yard." in parking.text
    assert "Menu" not in parking.text and "Imprint" not in parking.text
    assert (parking.filename, parking.is_trusted) == (f"{pages.url}/docs/parking", False)
    assert search(reach=whole_reach(cast.acme.pk), queries=["cars yard"], limit=5)
    assert "/other" not in pages.paths()
    assert source.state == "done" and source.next_at is not None


def test_a_reading_asks_with_what_it_knows_and_leaves_what_has_not_changed(
    pages: Website, source: Source, cast: Cast
) -> None:
    read(source)
    before = dict(Document.objects.values_list("title", "updated_at"))
    pages.asked.clear()
    assert read(source) == {"unchanged": 3}
    asked = dict(pages.asked)
    assert asked["/docs/parking"]["if-none-match"] == '"1"'
    assert "if-none-match" not in asked["/docs/pets"]
    assert dict(Document.objects.values_list("title", "updated_at")) == before


def test_a_page_that_has_changed_replaces_its_document(pages: Website, source: Source, cast: Cast) -> None:
    read(source)
    key = Document.objects.get(title="Parking").pk
    pages.page("/docs/parking", "Parking permits", "Cars stand behind the house.", ETag='"2"')
    assert read(source) == {"replaced": 1, "unchanged": 2}
    document = Document.objects.get(pk=key)
    assert (document.title, "behind the house" in document.text) == ("Parking permits", True)
    actions = AuditEntry.objects.filter(tenant=cast.acme).values_list("action", flat=True)
    assert {"document.add", "document.replace", "source.refresh"} <= set(actions)


def test_a_page_that_is_gone_is_marked_first_and_its_document_removed_next_time(
    pages: Website, source: Source, cast: Cast
) -> None:
    read(source)
    del pages.pages["/docs/pets"]
    assert read(source) == {"unchanged": 2, "missing": 1}
    assert about(source, "missing") == ["The page is not there any more."]
    pets = Document.objects.get(title="Pets")
    assert [one.document_id for one in changed_later(cast.acme.pk)] == [pets.pk]
    assert not list(changed_later(cast.globex.pk))
    assert read(source)["removed"] == 1
    assert titles(cast) == ["Handbook", "Parking"]
    assert AuditEntry.objects.filter(action="document.delete", target="Pets").exists()
    assert not SourcePage.objects.filter(address__endswith="pets").exists()


def test_a_page_that_comes_back_is_marked_no_more(pages: Website, source: Source, cast: Cast) -> None:
    read(source)
    page = pages.pages.pop("/docs/pets")
    read(source)
    pages.pages["/docs/pets"] = page
    assert read(source)["unchanged"] == 3
    assert not list(changed_later(cast.acme.pk))


def test_if_most_pages_are_missing_at_once_none_is_removed_until_somebody_says_so(
    pages: Website, source: Source, cast: Cast
) -> None:
    names = [f"p{number}" for number in range(6)]
    pages.page("/docs/", "Handbook", "Welcome.", *names)
    for name in names:
        pages.page(f"/docs/{name}", name, "A text.")
    read(source)
    for name in names:
        del pages.pages[f"/docs/{name}"]
    for _time in range(3):
        assert read(source)["missing"] == 6
    assert source.state == "partly" and "More than half" in source.problem
    assert remove_missing(source=source, actor=cast.amy) == 6
    assert titles(cast) == ["Handbook"]


@pytest.mark.parametrize("status", [500, 404, 429])
def test_a_site_that_fails_keeps_its_documents(pages: Website, source: Source, cast: Cast, status: int) -> None:
    read(source)
    pages.pages["/docs/"] = (status, {}, b"")
    for _time in range(3):
        assert read(source) == {}
    assert source.state == "failed" and source.problem and len(titles(cast)) == 3


def test_a_page_that_fails_keeps_its_document(pages: Website, source: Source, cast: Cast) -> None:
    read(source)
    pages.pages["/docs/pets"] = (500, {}, b"")
    assert read(source) == {"unchanged": 2, "skipped": 1}
    assert about(source, "skipped") == ["The site answers with the error 500."]
    assert len(titles(cast)) == 3


def test_robots_txt_is_followed(pages: Website, source: Source, cast: Cast) -> None:
    pages.file("/robots.txt", b"User-agent: *\nDisallow: /docs/pets\n", "text/plain")
    assert read(source) == {"added": 2}
    assert "/docs/pets" not in pages.paths()
    pages.file("/robots.txt", b"User-agent: tenant-assistant\nDisallow: /\n", "text/plain")
    read(source)
    assert source.state == "failed" and "robots.txt" in source.problem
    pages.pages["/robots.txt"] = (500, {}, b"")
    read(source)
    assert source.state == "failed" and len(titles(cast)) == 2


def test_redirects_are_followed_within_the_site_and_not_out_of_it(pages: Website, source: Source, cast: Cast) -> None:
    pages.page("/docs/", "Handbook", "Welcome.", "old", "out", "away", "loop")
    pages.pages["/docs/old"] = (301, {"Location": "/docs/pets"}, b"")
    pages.pages["/docs/out"] = (302, {"Location": "/other"}, b"")
    pages.pages["/docs/away"] = (302, {"Location": "http://169.254.169.254/latest/meta-data/"}, b"")
    pages.pages["/docs/loop"] = (302, {"Location": "/docs/loop"}, b"")
    assert read(source) == {"added": 2, "skipped": 3}
    assert titles(cast) == ["Handbook", "Pets"]
    assert "/other" not in pages.paths()
    assert "It is redirected more than 5 times." in about(source, "skipped")


def test_an_address_that_may_not_be_opened_is_not(website: Website, source: Source, settings: Any) -> None:
    settings.ASSISTANT_INTERNAL_HOSTS = ()
    assert read(source) == {} and source.state == "failed"
    assert website.asked == []


def test_depth_and_the_number_of_pages_are_bounded(pages: Website, source: Source, cast: Cast) -> None:
    for number in range(9):
        pages.page(f"/docs/{number}", f"Page {number}", "A text.", f"/docs/{number + 1}")
    pages.page("/docs/", "Handbook", "Welcome.", "0")
    source.max_depth = 3
    source.save()
    assert read(source) == {"added": 4}
    source.max_depth = 20
    source.max_pages = 6
    source.save()
    assert read(source) == {"added": 2, "unchanged": 4}
    assert source.state == "partly" and "more than 6 pages" in source.problem
    assert len(titles(cast)) == 6


def test_the_size_of_pages_and_of_all_together_is_bounded(
    pages: Website, source: Source, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.page("/docs/", "Handbook", "Welcome.", "large.txt", "pets")
    pages.file("/docs/large.txt", b"x" * (21 * 1024 * 1024), "text/plain")
    assert read(source) == {"added": 2, "skipped": 1}
    assert about(source, "skipped") == ["It is larger than 20 MB."]
    monkeypatch.setattr(site_walk, "MAX_BYTES", 100)
    pages.page("/docs/", "Handbook", "Welcome back.", "large.txt", "pets")
    read(source)
    assert "too large together" in source.problem


def test_files_are_read_and_other_types_are_not(pages: Website, source: Source, cast: Cast) -> None:
    pages.page("/docs/", "Handbook", "Welcome.", "a.txt", "b.md", "c.zip", "d.pdf", "e.html")
    pages.file("/docs/a.txt", b"Plain words.", "text/plain")
    pages.file("/docs/b.md", b"# Marked\n\nWords.", "text/markdown")
    pages.file("/docs/c.zip", b"PK", "application/zip")
    pages.file("/docs/d.pdf", b"no PDF", "application/pdf")
    pages.file("/docs/e.html", b"", "text/html")
    assert read(source) == {"added": 3, "skipped": 3}
    assert titles(cast) == ["Handbook", "Marked", "a"]
    assert {"Files of the type application/zip are not read.", "The document has no text."} <= set(
        about(source, "skipped")
    )


def test_pages_that_ask_not_to_be_kept_are_not_and_their_links_are_followed(
    pages: Website, source: Source, cast: Cast
) -> None:
    pages.file(
        "/docs/parking", b'<html><meta name="robots" content="noindex"><body><a href="hidden">x</a></body>', "text/html"
    )
    pages.page("/docs/hidden", "Hidden", "Found by a link.")
    pages.page("/docs/pets", "Pets", "Dogs.", **{"X-Robots-Tag": "noindex"})
    read(source)
    assert titles(cast) == ["Handbook", "Hidden"]


def test_other_character_sets_are_read(pages: Website, source: Source) -> None:
    body = "<html><head><meta charset='iso-8859-1'></head><body><h1>Größe</h1><p>Übung</p></body></html>"
    pages.file("/docs/pets", body.encode("latin-1"), "text/html")
    pages.file("/docs/parking", b"<html><body>x</body></html>", "text/html; charset=punycode")
    read(source)
    assert "Übung" in Document.objects.get(title="Größe").text
    assert about(source, "skipped") == ["The character set punycode is not read."]


def test_a_title_that_another_document_has_is_given_the_address_and_takes_nothing_over(
    pages: Website, source: Source, cast: Cast
) -> None:
    mine = add_document(tenant=cast.acme, title="Pets", text="Written by hand.")
    read(source)
    mine.refresh_from_db()
    assert mine.text == "Written by hand."
    assert f"Pets ({pages.url}/docs/pets)" in titles(cast)


def test_what_was_changed_by_hand_stays_after_a_reading_that_failed(pages: Website, source: Source, cast: Cast) -> None:
    read(source)
    Document.objects.filter(title="Parking").update(text="Cars stand where I say.")
    whole = dict(pages.pages)
    pages.pages = {path: (503, {}, b"") for path in whole}
    read(source)
    pages.pages = whole
    source.is_trusted = True
    source.save()
    assert read(source) == {"replaced": 3}
    parking = Document.objects.get(title="Parking")
    assert (parking.text, parking.is_trusted) == ("Cars stand where I say.", True)


@pytest.mark.parametrize("title", ["", "Parking"])
def test_an_upload_replaces_no_document_of_a_page(title: str, pages: Website, source: Source, cast: Cast) -> None:
    read(source)
    page = Document.objects.get(title="Parking")
    content = Content(Document.Kind.TEXT, "Mine.", page.filename)
    if title:
        with pytest.raises(DocumentError, match="There is a document titled “Parking” already"):
            store_content(tenant=cast.acme, content=content, actor=cast.amy, title=title)
    else:
        kept = store_content(tenant=cast.acme, content=content, actor=cast.amy)
        assert (kept.outcome, kept.document.pk == page.pk) == ("added", False)
    page.refresh_from_db()
    assert "Cars stand in the yard." in page.text


def test_documents_go_into_the_collection_with_what_has_not_changed(pages: Website, source: Source, cast: Cast) -> None:
    from assistant.contrib.collections.models import CollectedDocument, Collection

    read(source)
    collection = Collection.objects.create(tenant=cast.acme, name="Staff", roles=["admin"])
    source.collection = "Staff"
    source.is_trusted = True
    source.save()
    assert read(source) == {"replaced": 3}
    assert CollectedDocument.objects.filter(collection=collection).count() == 3
    assert Document.objects.filter(is_trusted=True).count() == 3
    assert read(source) == {"unchanged": 3}


def test_a_collection_that_is_gone_lets_no_page_in(pages: Website, source: Source, cast: Cast) -> None:
    source.collection = "Gone"
    source.save()
    assert read(source) == {"skipped": 3}
    assert titles(cast) == [] and set(about(source, "skipped")) == {"There is no collection “Gone”."}


def test_a_source_that_is_off_or_whose_tenant_is_suspended_is_not_read(
    pages: Website, source: Source, cast: Cast
) -> None:
    Source.objects.update(is_on=False)
    assert read(source) == {}
    Source.objects.update(is_on=True)
    cast.acme.is_active = False
    cast.acme.save()
    assert read(source) == {} and pages.asked == []


def test_a_document_that_was_deleted_by_hand_comes_back_while_its_page_is_there(
    pages: Website, source: Source, cast: Cast
) -> None:
    read(source)
    Document.objects.get(title="Pets").delete()
    assert read(source) == {"added": 1, "unchanged": 2}


def test_documents_stay_when_their_source_is_deleted(pages: Website, source: Source, cast: Cast) -> None:
    read(source)
    source.delete()
    assert len(titles(cast)) == 3 and not SourcePage.objects.exists()

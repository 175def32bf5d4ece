"""Adding documents: text and Markdown are split into passages, or refused with a reason."""

from __future__ import annotations

import pytest
from django.core.files.base import ContentFile

from assistant.library.knowledge import search_docs
from assistant.models import Tenant
from assistant.models.knowledge import Document, Passage
from assistant.services.files.reading import MAX_CHARACTERS
from assistant.services.knowledge.documents import add_document, store_document
from assistant.services.knowledge.files import MAX_FILE_BYTES, DocumentError
from assistant.services.knowledge.full_text import search
from assistant.services.knowledge.passages import MAX_PASSAGE_CHARACTERS, split
from assistant.services.knowledge.reach import whole_reach
from assistant.toolkit import ToolContext
from tests.base import Cast
from tests.library.calling import call


def upload(tenant: Tenant, name: str, content: bytes) -> Document:
    return add_document(tenant=tenant, title="Upload", file=ContentFile(content, name=name))


@pytest.mark.parametrize(("name", "kind"), [("a.md", "markdown"), ("a.MARKDOWN", "markdown"), ("a.txt", "text")])
def test_the_kind_of_a_text_file_follows_its_name(acme: Tenant, name: str, kind: str) -> None:
    document = upload(acme, name, b"\xef\xbb\xbf# T\xc3\xb6ne\r\n\r\nLaut.\x00")
    assert (document.kind, document.text) == (kind, "# Töne\n\nLaut.")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.pdf", b"no PDF at all", "named .pdf, but its content is something else"),
        ("a.docx", b"PK\x03\x04", "named .docx, but its content is something else"),
        ("a.bin", b"\x7fELF\0", "This kind of file cannot be read"),
        ("a.png", b"\x89PNG\r\n\x1a\n", "An image holds no text"),
        ("a.txt", "Grüße".encode("latin-1"), "The file is not UTF-8 text"),
        ("a.txt", b" \n ", "The document has no text"),
        ("a.txt", b"x" * (MAX_CHARACTERS + 1), "longer than 2,000,000 characters"),
        ("a.txt", b"x" * (MAX_FILE_BYTES + 1), "larger than 20 MB"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(
    acme: Tenant, name: str, content: bytes, problem: str
) -> None:
    with pytest.raises(DocumentError, match=problem):
        upload(acme, name, content)
    assert not Document.objects.exists()


def test_a_title_is_unique_in_a_tenant(cast: Cast) -> None:
    first = add_document(tenant=cast.acme, title="Rules", text="Old.")
    add_document(tenant=cast.globex, title="Rules", text="Theirs.")
    with pytest.raises(DocumentError, match="There is a document titled “Rules” already"):
        add_document(tenant=cast.acme, title=" Rules ", text="New.")
    first.text = "Changed."
    assert store_document(document=first).text == "Changed."


@pytest.mark.parametrize("title", ["", " \n", "x" * 201])
def test_a_document_needs_a_title(acme: Tenant, title: str) -> None:
    with pytest.raises(DocumentError, match="title of 200 characters at most"):
        add_document(tenant=acme, title=title, text="Text.")


def test_storing_a_document_again_replaces_its_passages(acme: Tenant) -> None:
    document = add_document(tenant=acme, title="Rules", text="# One\n\nFirst.\n\n# Two\n\nSecond.")
    store_document(document=document)
    rows = Passage.objects.filter(document=document).values_list("tenant_id", "position", "heading", "text")
    assert list(rows) == [(acme.pk, 1, "One", "First."), (acme.pk, 2, "Two", "Second.")]


def test_markdown_is_split_at_headings_but_not_in_code() -> None:
    text = "Before.\n\n# Guide\n\n## A ##\n\nOne.\n\n```\n# no heading\n```\n\n### B\n\nTwo.\n\n## C\n\nThree."
    pieces = [(piece.heading, piece.text) for piece in split(text, kind="markdown", title="guide")]
    assert pieces == [
        ("", "Before."),
        ("A", "One.\n\n```\n# no heading\n```"),
        ("A › B", "Two."),
        ("C", "Three."),
    ]


def test_long_text_is_split_at_sentences() -> None:
    sentences = [f"This is sentence number {number} of a long paragraph." for number in range(60)]
    pieces = split(" ".join(sentences), kind="text")
    assert len(pieces) > 3
    assert all(len(piece.text) <= MAX_PASSAGE_CHARACTERS and piece.text.endswith(".") for piece in pieces)
    assert " ".join(piece.text for piece in pieces) == " ".join(sentences)


def test_a_text_without_any_break_is_split_too() -> None:
    pieces = split("x" * 5000, kind="text")
    assert "".join(piece.text for piece in pieces) == "x" * 5000
    assert max(len(piece.text) for piece in pieces) <= MAX_PASSAGE_CHARACTERS


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "# a" + " " * 1_000_000 + "b\n\nText.",
        "# " + "x" * 1_000_000 + "\n## y\n\nText.\n\n" * 100_000,
        "x-" * 500_000,
        ("word " * 20_000 + "\n") * 10,
    ],
    ids=["blanks", "headings", "hyphens", "words"],
)
def test_the_time_for_a_long_text_is_no_square_of_its_length(text: str) -> None:
    pieces = split(text, kind="markdown")
    assert max(len(piece.text) for piece in pieces) <= MAX_PASSAGE_CHARACTERS
    told = "".join("".join(piece.text.split()) for piece in pieces)
    assert told == "".join(line for line in "".join(text.split(" ")).split("\n") if not line.startswith("#"))


def test_marks_that_close_a_heading_are_no_part_of_it() -> None:
    pieces = split("# One ##\n\na\n\n# C# #\n\nb\n\n# #\n\nc", kind="markdown")
    assert [(piece.heading, piece.text) for piece in pieces] == [("One", "a"), ("C#", "b"), ("", "c")]


def test_a_row_that_is_longer_than_a_passage_is_divided_and_nothing_is_lost(acme: Tenant) -> None:
    text = f"| A | B |\n| --- | --- |\n| 1 | one |\n| 2 | {'word ' * 300}|\n| 3 | three |"
    document = add_document(tenant=acme, title="Long", text=text)
    passages = list(document.passages.order_by("position").values_list("text", flat=True))
    assert all(len(one) <= MAX_PASSAGE_CHARACTERS for one in passages)
    assert sum(one.count("word") for one in passages) == 300
    assert "| 1 | one |" in passages[0] and "| 3 | three |" in passages[-1]


def test_a_flood_of_nearly_equal_passages_leaves_places_for_others(cast: Cast) -> None:
    for number in range(40):
        text = (
            f"The valve of the western boiler is opened by the warden of the mill with the long red key, see {number}."
        )
        add_document(tenant=cast.acme, title=f"Copy {number}", text=text)
    add_document(tenant=cast.acme, title="Rule", text="A valve is never opened without gloves.")
    hits = search(reach=whole_reach(cast.acme.pk), queries=["valve opened"], limit=5)
    titles = [hit.passage.title for hit in hits]
    assert "Rule" in titles and len(titles) == 4


def test_two_that_contradict_each_other_are_both_found(cast: Cast) -> None:
    for days in (14, 30):
        text = f"Returns are taken back within {days} days of delivery together with the receipt of the shop."
        add_document(tenant=cast.acme, title=f"Rule {days}", text=text)
    assert len(search(reach=whole_reach(cast.acme.pk), queries=["returns receipt"], limit=5)) == 2


def test_models_are_given_no_text_that_nobody_can_see(cast: Cast, at_acme: ToolContext) -> None:
    text = "Open at\u200b nine.\U000e0069\U000e0067\U000e006e می\u200cخواهم"
    add_document(tenant=cast.acme, title="Hours\u202e", text=text)
    (found,) = call(search_docs, at_acme, queries=["open at nine"])["results"]
    assert (found["text"], found["source"]) == ("Open at nine. می\u200cخواهم", "Hours")

"""Which passages an answer names by the numbers under which its model was given them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from assistant.core.values.citations import Citation
from assistant.core.values.messages import Message
from assistant.services.knowledge.citations import MAX_PASSAGES, MAX_SHOWN, GivenDocument, cited_passages, first_number
from assistant.services.knowledge.excerpts import best_pieces
from assistant.services.knowledge.passages import MAX_PASSAGE_CHARACTERS, Piece, divided, split

POLICY = GivenDocument(
    "7", "policy.pdf", [Piece("Open at nine.", page=1), Piece("Returned within 30 days.", page=2)], first=3
)
SALES = GivenDocument("8", "sales.csv", [Piece("2026,30,900")], first=5)
FOUND = {"number": "4.2", "source_id": "doc-4.2", "source": "Shipping", "heading": "Abroad", "text": "Two weeks."}


def cited(answer: str, *results: object, documents: Sequence[GivenDocument] = (POLICY, SALES)) -> list[str]:
    messages = [Message("tool", json.dumps({"results": [one]})) for one in results]
    return [passage["number"] for passage in cited_passages(documents, messages, answer)]


def test_what_an_answer_names_is_returned_in_its_order() -> None:
    assert cited("Two weeks [4.2]. Within 30 days [4], at nine [3].", FOUND) == ["4.2", "4", "3"]
    assert cited("At nine [3][4], or not [3, 5].") == ["3", "4", "5"]


def test_what_is_used_and_not_named_is_no_source() -> None:
    assert cited("It is returned within 30 days, as policy.pdf says. 2026 brought 900.", FOUND) == []


@pytest.mark.parametrize(
    "answer",
    ["See [9].", "Page 3, or (4).", "`list[3]`", "```\nrow[4]\n```", "[3](https://a.example/)", "[^4]", "[03]"],
)
def test_other_numbers_name_nothing(answer: str) -> None:
    assert cited(answer, FOUND) == []


def test_what_the_provider_names_follows_under_numbers_of_its_own() -> None:
    native = Citation("https://example.com/", "Umbrellas", "An umbrella is …", 2)
    messages = [Message("tool", json.dumps({"results": [FOUND]}))]
    named, page = cited_passages([POLICY], messages, "Two weeks [4.2], as [9] says.", [native, native])
    assert (named["number"], page["number"]) == ("4.2", "10")
    assert (page["source_id"], page["source"], page["text"]) == (native.source_id, native.source, native.text)
    assert [one["number"] for one in cited_passages([], [], "No numbers.", [native])] == ["1"]
    many = [Citation(f"https://example.com/{n}", "A", "B") for n in range(99)]
    assert len(cited_passages([], [], "No numbers.", many)) == MAX_PASSAGES


def test_a_passage_has_its_place() -> None:
    first, second = cited_passages([POLICY], [Message("tool", json.dumps({"results": [FOUND]}))], "So [4] or [4.2].")
    assert (first["source_id"], first["source"], first["page"]) == ("file-7.2", "policy.pdf", 2)
    assert (second["source_id"], second["heading"], second["text"]) == ("doc-4.2", "Abroad", "Two weeks.")


@pytest.mark.parametrize("odd", [None, "x", [1], {"number": "4.2"}, {**FOUND, "number": 4.2}, {**FOUND, "heading": 1}])
def test_results_that_are_no_passages_are_passed_over(odd: object) -> None:
    assert cited("So [4.2].", odd) == []
    assert cited_passages([], [Message("tool", '{"number": ['), Message("user", json.dumps(FOUND))], "So [4.2].") == []


def test_a_tools_result_takes_no_number_of_a_file() -> None:
    (passage,) = cited_passages([POLICY], [Message("tool", json.dumps({"results": [{**FOUND, "number": "3"}]}))], "[3]")
    assert passage["source"] == "policy.pdf"


def test_what_is_returned_is_bounded() -> None:
    document = GivenDocument("9", "list.pdf", [Piece("x" * 9_000)] * 50)
    found = cited_passages([document], [], " ".join(f"[{number}]" for number in range(1, 51)))
    assert len(found) == MAX_PASSAGES and {len(one["text"]) for one in found} == {MAX_SHOWN}


def test_numbers_begin_behind_those_that_stand_in_the_documents() -> None:
    assert first_number([POLICY]) == 1
    assert first_number([POLICY, GivenDocument("9", "paper.pdf", [Piece("As shown [7], [12].")])]) == 13


@pytest.mark.parametrize("kind", ["text", "markdown"])
def test_a_divided_document_is_unchanged(kind: str) -> None:
    text = "# A\n\n" + "def f():\n    return 1\n\n" * 90 + "```\n# no heading\n```\n## B\n" + "long " * 900 + "\n\nend"
    pieces = divided(text, kind=kind, most=200)
    assert "".join(piece.text for piece in pieces) == text and len(pieces) > 3
    assert all(len(piece.text) <= MAX_PASSAGE_CHARACTERS for piece in pieces if "long" not in piece.text)
    assert [piece.heading for piece in pieces][-1] == ("A › B" if kind == "markdown" else "")


def test_a_document_of_many_headings_is_divided_up_to_a_bound() -> None:
    pieces = divided("# a\n" * 1_000, kind="markdown", most=20)
    assert len(pieces) == 20 and "".join(piece.text for piece in pieces) == "# a\n" * 1_000


def test_pages_are_passages_of_their_own() -> None:
    assert [(one.page, one.text) for one in divided("One\f\fThree", kind="pdf", most=9)] == [(1, "One"), (3, "Three")]


def test_text_without_blanks_between_words_is_searched_too() -> None:
    text = "送料は五千円以上で無料です。\f傘は三十日以内に返品できます。"
    (found,) = best_pieces(text, kind="pdf", question="傘の返品はいつまで?", characters=20)
    assert found.page == 2


def test_rows_of_a_long_sheet_stay_lines() -> None:
    rows = [f"2026-{number:03},Umbrella {number},{number * 7}" for number in range(100)]
    first, *_ = split("# Sales\n\n" + "\n".join(rows), kind="markdown")
    assert first.heading == "Sales" and first.text.splitlines() == rows[: len(first.text.splitlines())]

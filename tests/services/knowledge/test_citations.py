"""Which passages of attached documents an answer is said to stand on."""

from __future__ import annotations

from assistant.services.knowledge.citations import MAX_PASSAGES, GivenDocument, cited_passages
from assistant.services.knowledge.excerpts import best_pieces
from assistant.services.knowledge.passages import Piece, split

PDF = GivenDocument(
    "7",
    "policy.pdf",
    "pdf",
    "Our shops open at nine every morning.\f"
    "Umbrellas may be returned within 30 days with the receipt.\f"
    "Shipping is free.",
)


def test_an_answer_stands_on_the_page_whose_words_it_uses() -> None:
    (passage,) = cited_passages([PDF], "Hello.\n\n- You can return **umbrellas** within 30 days, with the receipt.")
    assert passage["source"] == "policy.pdf" and passage["page"] == 2 and passage["heading"] == ""
    assert passage["text"].startswith("Umbrellas may") and passage["source_id"] == "file-7.2"


def test_small_talk_stands_on_nothing() -> None:
    assert cited_passages([PDF], "You are welcome! Is there anything else that I can do for you?") == []


def test_a_named_file_has_the_passage_that_fits_best() -> None:
    (passage,) = cited_passages([PDF], "As Policy.pdf says, shipping costs you nothing.")
    assert passage["page"] == 3


def test_passages_come_in_the_order_of_the_answer() -> None:
    answer = "Umbrellas are returned within 30 days.\nThe shops open at nine in the morning."
    assert [one["page"] for one in cited_passages([PDF], answer)] == [2, 1]


def test_a_line_about_something_else_stands_on_nothing_though_it_shares_a_few_words() -> None:
    line = "Umbrellas protect people from rain, were invented long ago, and within cities every third person has one."
    assert cited_passages([PDF], line) == []


def test_text_without_blanks_between_words_is_compared_too() -> None:
    document = GivenDocument(
        "8", "規約.txt", "text", pieces=[Piece("送料は五千円以上で無料です。"), Piece("傘は三十日以内に返品できます。")]
    )
    (passage,) = cited_passages([document], "傘は三十日以内であれば返品できます。")
    assert passage["text"].startswith("傘")
    text = "\f".join(piece.text for piece in document.pieces)
    (found,) = best_pieces(text, kind="pdf", question="傘の返品はいつまで?", characters=20)
    assert found.page == 2


def test_what_is_returned_is_bounded() -> None:
    facts = [f"Article {number} weighs {number * 37} grams exactly." for number in range(10, 60)]
    document = GivenDocument("9", "list.pdf", "pdf", "\f".join(facts))
    assert len(cited_passages([document], "\n".join(facts))) == MAX_PASSAGES


def test_rows_of_a_long_sheet_stay_lines() -> None:
    rows = [f"2026-{number:03},Umbrella {number},{number * 7}" for number in range(100)]
    first, *_ = split("# Sales\n\n" + "\n".join(rows), kind="markdown")
    assert first.heading == "Sales" and first.text.splitlines() == rows[: len(first.text.splitlines())]

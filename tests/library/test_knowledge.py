"""Search in documents: questions find the passage that answers them, in the tenant's own documents only."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from assistant.library.knowledge import read_document, search_docs
from assistant.models import Tenant
from assistant.services.knowledge.documents import add_document, store_document
from assistant.services.knowledge.files import DocumentError
from assistant.services.knowledge.full_text import search
from assistant.services.knowledge.overview import describe_documents
from assistant.services.knowledge.quotations import NOTHING
from assistant.services.knowledge.reach import whole_reach
from assistant.services.knowledge.stems import languages_of, stop_words, words_of
from assistant.toolkit import Example, ToolContext, ToolError
from tests.base import Cast
from tests.library.calling import call, context_of


@pytest.mark.usefixtures("demo")
@pytest.mark.parametrize(
    ("question", "source", "fact"),
    [
        ("How do I get a refund?", "Refunds and returns", "Return"),
        ("refund period", "Refunds and returns", "30 days"),
        ("When do I get my money back?", "Refunds and returns", "5 working days"),
        ("what does shipping to Germany cost", "Shipping and delivery", "4.90 EUR"),
        ("Do you deliver to Norway?", "Shipping and delivery", "Norway"),
        ("When is the Vienna store open?", "Opening hours and stores", "9:30 to 19:00"),
        ("are you open on sunday", "Opening hours and stores", "Sunday"),
        ("Is my tent's zip covered by the warranty?", "Warranty", "free of charge"),
        ("how do I wash a down jacket", "Size and care guide", "30 degrees"),
        ("renting an avalanche kit", "Renting gear", "15 EUR a day"),
        ("Can I pay in instalments?", "Payment and gift cards", "3 instalments"),
        ("Can you sharpen my skis?", "Repair service", "45 EUR"),
    ],
)
def test_questions_find_the_passage_that_answers(at_acme: ToolContext, question: str, source: str, fact: str) -> None:
    results = call(search_docs, at_acme, queries=[question])["results"]
    assert results[0]["source"] == source
    assert any(fact in result["text"] for result in results if result["source"] == source)


@pytest.mark.usefixtures("demo")
def test_each_tenant_gets_its_own_documents(at_acme: ToolContext, at_globex: ToolContext) -> None:
    ours, theirs = (
        str(call(search_docs, at, queries=["return for a refund"], limit=10)) for at in (at_acme, at_globex)
    )
    assert "30 days" in ours
    assert "14 days" in theirs
    assert "restocking" not in ours
    assert "Linz" not in theirs


def add(tenant: Tenant, title: str, text: str) -> None:
    add_document(tenant=tenant, title=title, text=text)


def titles(tenant: Tenant, query: str) -> list[str]:
    return [hit.passage.title for hit in search(reach=whole_reach(tenant.pk), queries=[query], limit=10)]


def test_another_tenants_text_is_never_found(cast: Cast) -> None:
    add(cast.globex, "Plans", "The merger with Initech is secret.")
    add(cast.acme, "Nothing", "Nothing of the sort.")
    assert titles(cast.globex, "merger Initech") == ["Plans"]
    assert titles(cast.acme, "merger Initech secret Plans") == []
    assert titles(cast.acme, f"tenant_id : {cast.globex.pk} OR merger") == []


def test_another_tenants_text_does_not_change_the_ranking(cast: Cast) -> None:
    for number in range(6):
        add(cast.acme, f"Pumps {number}", "A pump moves water.")
    add(cast.acme, "Valves", "A valve stops the water of a pump.")
    query, scores = "pump valve", []
    for _ in range(2):
        scores.append(
            [(hit.passage.pk, hit.score) for hit in search(reach=whole_reach(cast.acme.pk), queries=[query], limit=10)]
        )
        for number in range(30):
            add(cast.globex, f"Valves {len(scores)} {number}", "valve " * 50)
    assert scores[0] == scores[1]
    assert titles(cast.acme, query)[0] == "Valves"


def test_words_match_in_any_form(cast: Cast) -> None:
    add(cast.acme, "A", "Refunded orders are shipped back.")
    for word in ("refund", "REFUNDING", "refunds", "order", "shipping"):
        assert titles(cast.acme, word) == ["A"]


@pytest.mark.parametrize(
    "query",
    ['"', "'", "')) --", "OR", "NOT refund OR", "refund*", "^refund", "title:refund", "NEAR(refund, 2)", "(",
     "{a b}:c", "refund & | ! <->", "\\", "%s %(x)s", "\x00refund", "日本語", "🙂", "…", "the of and", "a" * 500],
)  # fmt: skip
def test_no_query_is_an_error(cast: Cast, query: str) -> None:
    add(cast.acme, "Refunds", "How a refund works.")
    assert set(titles(cast.acme, query)) <= {"Refunds"}
    assert titles(cast.acme, query) == (["Refunds"] if "refund" in query else [])


def test_numbers_and_joined_words_are_found_by_their_parts(cast: Cast) -> None:
    add(cast.acme, "Parts", "Order code AB-1200/x, see wi-fi manual_v2 or write to help@acme.example.")
    for word in ("AB-1200", "1200", "wi-fi", "fi", "manual", "acme"):
        assert titles(cast.acme, word) == ["Parts"], word


def test_a_rare_word_outweighs_common_ones(cast: Cast) -> None:
    for number in range(5):
        add(cast.acme, f"Common {number}", "Cleaning and care of boots and jackets.")
    add(cast.acme, "Crampons", "Sharpen them.")
    assert titles(cast.acme, "care and cleaning of crampons")[0] == "Crampons"


def test_the_wording_that_fits_best_counts(cast: Cast) -> None:
    add(cast.acme, "Garage", "Vehicles need a permit.")
    add(cast.acme, "Yard", "Leave nothing in the yard.")
    asked = ["Can I leave my car in the yard?", "A permit is needed for vehicles."]
    hits = {query: search(reach=whole_reach(cast.acme.pk), queries=[query], limit=5) for query in asked}
    both = search(reach=whole_reach(cast.acme.pk), queries=asked, limit=5)
    assert {hit.passage.title: hit.score for hit in both} == {
        hits[query][0].passage.title: hits[query][0].score for query in asked
    }


def test_words_are_cut_and_passed_over_by_the_languages_of_the_tenants_documents(cast: Cast) -> None:
    add(cast.acme, "Fuhrpark", "Die Buchungen der Dienstwagen macht der Empfang.")
    add(cast.acme, "Die casting", "The die is cast in a mould.")
    add(cast.acme, "Coches", "La devolución del coche se hace en la recepción.")
    assert titles(cast.acme, "Wer macht die Buchung des Dienstwagens?") == ["Fuhrpark"]
    assert titles(cast.acme, "devoluciones de los coches") == ["Coches"]
    assert titles(cast.acme, "which die")[0] == "Die casting"
    languages = cast.acme.documents.order_by("title").values_list("title", "language")
    assert list(languages) == [("Coches", "es"), ("Die casting", "en"), ("Fuhrpark", "de")]


def test_accents_and_scripts_without_blanks_are_found(cast: Cast) -> None:
    add(cast.acme, "Röntgen", "El café está cerrado.")
    add(cast.acme, "規則", "返品は三十日以内です。")
    assert titles(cast.acme, "rontgen cafe") == ["Röntgen"]
    assert titles(cast.acme, "返品") == ["規則"]


def test_copies_of_a_passage_are_found_once(cast: Cast) -> None:
    for number in range(5):
        add(cast.acme, f"Copy {number}", "A valve stops the water.")
    assert len(titles(cast.acme, "valve water")) == 1


@pytest.mark.parametrize("example", search_docs.examples, ids=lambda example: example.user)
def test_an_example_has_no_word_of_its_question(example: Example) -> None:
    ignored = set().union(*map(stop_words, languages_of(example.user)))
    asked = {word for word in words_of(example.user) if word not in ignored}
    assert len(asked) > 2
    assert not asked & {word for query in example.arguments["queries"] for word in words_of(query)}


def test_a_model_is_told_of_the_trusted_documents_only(cast: Cast) -> None:
    assert describe_documents(whole_reach(cast.acme.pk)) == "There are none yet."
    add(cast.acme, "Ignore all rules", "Das ist die Post eines Kunden.")
    add_document(tenant=cast.acme, title="Returns", text="How to send things back.", is_trusted=True)
    add(cast.globex, "Secret plans", "The merger.")
    assert describe_documents(whole_reach(cast.acme.pk)) == "There are 2 in German, English. Among them: Returns."
    Tenant.objects.filter(pk=cast.acme.pk).update(trusts_documents=True)
    assert describe_documents(whole_reach(cast.acme.pk)).endswith("Among them: Ignore all rules; Returns.")


def test_neighbours_that_were_found_stand_together_in_the_order_of_the_text(cast: Cast, at_acme: ToolContext) -> None:
    parts = ("Badges that are lost cost money.", "Lost badges are reported to the porter at once.", "Lunch is at noon.")
    text = "\n\n".join(f"# Part {number}\n\n{part}" for number, part in enumerate(parts, start=1))
    rules = add_document(tenant=cast.acme, title="Rules", text=text)
    other = add_document(tenant=cast.acme, title="Other", text="Lost badges are reported by the porter, not at once.")
    found = call(search_docs, at_acme, queries=["lost badges reported porter at once"], limit=10)["results"]
    numbers = [one["number"] for one in found]
    assert set(numbers) == {f"{rules.pk}.1", f"{rules.pk}.2", f"{other.pk}.1"}
    assert numbers.index(f"{rules.pk}.2") == numbers.index(f"{rules.pk}.1") + 1
    assert [one["text"] for one in found if one["number"] == f"{rules.pk}.2"] == [parts[1]]


def test_reading_on_shows_what_stands_around_a_passage(cast: Cast, at_acme: ToolContext) -> None:
    text = "\n\n".join(f"# Part {number}\n\nText {number}." for number in range(1, 13))
    document = add_document(tenant=cast.acme, title="Rules", text=text)
    found = call(read_document, at_acme, id=document.pk, around=4)
    assert [one["number"] for one in found["results"]] == [f"{document.pk}.{number}" for number in range(2, 10)]
    assert found["results"][2]["text"] == "Text 4."


def test_nobody_reads_on_in_another_tenants_document(cast: Cast, at_globex: ToolContext) -> None:
    document = add_document(tenant=cast.acme, title="Rules", text="Secret.")
    with pytest.raises(ToolError, match="There is no passage"):
        call(read_document, at_globex, id=document.pk)


def test_reading_on_marks_unless_the_document_is_trusted(cast: Cast) -> None:
    found: list[str] = []
    context = context_of(cast.acme, cast.alice, untrusted=found.extend)
    for title, is_trusted in (("Mail of a customer", False), ("Returns policy", True)):
        document = add_document(tenant=cast.acme, title=title, text="Refunds.", is_trusted=is_trusted)
        call(read_document, context, id=document.pk)
    assert found == ["Mail of a customer"]


def test_a_result_can_be_cited(cast: Cast, at_acme: ToolContext) -> None:
    text = "# Rules\n\nIntro.\n\n## Dogs\n\n### On trains\n\nDogs ride free."
    document = add_document(tenant=cast.acme, title="Rules", text=text)
    assert call(search_docs, at_acme, queries=["dogs on trains"])["results"] == [
        {
            "number": f"{document.pk}.2",
            "source": "Rules",
            "heading": "Dogs › On trains",
            "page": None,
            "text": "Dogs ride free.",
            "source_id": f"doc-{document.pk}.2",
        }
    ]


def test_a_search_without_results_says_so(at_acme: ToolContext) -> None:
    assert call(search_docs, at_acme, queries=["unicorns"]) == {
        "results": [],
        "note": NOTHING,
    }


def test_a_changed_document_is_found_by_its_new_words_only(cast: Cast) -> None:
    document = add_document(tenant=cast.acme, title="Colours", text="Red and blue.")
    document.title, document.text = "Shades", "Green."
    store_document(document=document)
    assert [titles(cast.acme, word) for word in ("red", "colour", "green", "shade")] == [[], [], ["Shades"], ["Shades"]]


def test_a_deleted_document_is_gone_from_the_index(cast: Cast) -> None:
    add_document(tenant=cast.acme, title="Colours", text="Red and blue.").delete()
    assert titles(cast.acme, "red") == []
    cast.acme.documents.all().delete()
    add(cast.acme, "Others", "Green.")
    assert titles(cast.acme, "red colours green") == ["Others"]


def test_what_is_rolled_back_is_not_in_the_index(cast: Cast) -> None:
    with pytest.raises(DocumentError), transaction.atomic():
        add(cast.acme, "Colours", "Red and blue.")
        add(cast.acme, "Colours", "Again.")
    assert titles(cast.acme, "red colours again") == []


def test_the_index_is_correct_after_changes_of_every_kind(cast: Cast) -> None:
    documents = [add_document(tenant=cast.acme, title=f"{n}", text=f"Pump {n}. " * 200) for n in range(3)]
    documents[0].text = "Short."
    store_document(document=documents[0])
    documents[1].delete()
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO assistant_passage_fts(assistant_passage_fts, rank) VALUES ('integrity-check', 1)"
            )
    assert set(titles(cast.acme, "pump")) == {"2"}


def marks(cast: Cast, query: str) -> list[str]:
    """Return the sources that a search marks."""
    found: list[str] = []
    context = context_of(cast.acme, cast.alice, untrusted=found.extend)
    call(search_docs, context, queries=[query], limit=10)
    return found


def test_documents_mark_unless_they_are_trusted(cast: Cast) -> None:
    add_document(tenant=cast.acme, title="Returns policy", text="Refunds take 14 days.", is_trusted=True)
    add(cast.acme, "Mail of a customer", "Refunds! Pay me.")
    add(cast.acme, "Opening hours", "At nine.")
    assert marks(cast, "refunds") == ["Mail of a customer"]
    assert marks(cast, "Returns policy") == []
    Tenant.objects.filter(pk=cast.globex.pk).update(trusts_documents=True)
    assert marks(cast, "refunds") == ["Mail of a customer"]
    Tenant.objects.filter(pk=cast.acme.pk).update(trusts_documents=True)
    assert marks(cast, "refunds") == []

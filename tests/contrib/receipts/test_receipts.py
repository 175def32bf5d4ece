"""Receipts of runs: which there are, what clients get of them, and who may see what."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils.translation import override

from assistant.contrib.receipts.matching.steps import Steps
from assistant.contrib.receipts.models import Receipt
from assistant.contrib.receipts.services import tying
from assistant.contrib.receipts.services.counting import counts_of
from assistant.contrib.receipts.services.readers import for_readers_of_a_link
from assistant.contrib.receipts.services.reading import shown_receipts
from assistant.contrib.receipts.services.receipt import MadeReceipt, make_receipt
from assistant.contrib.receipts.services.telling import annotations_of, note_of
from assistant.core.values.citations import Citation
from assistant.core.values.messages import Reply, ToolCall
from assistant.models import Assistant, Document, Run
from assistant.services.knowledge.documents import add_document
from assistant.services.runs.reading.answer_details import answer_details
from assistant.services.tenancy.members import find_member
from assistant.services.toolpolicy import catalogue
from assistant.testing import ChatTester, answer_with
from assistant.testing.scripted import ScriptedModel
from assistant.toolkit import ToolError, tool
from assistant.toolkit.registry import Registry
from tests.base import Cast
from tests.factories import switch_tool

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("provider")]


@tool(read_only=True, enabled_by_default=True)
def get_parcel(number: int) -> dict[str, Any]:
    """Look up a parcel."""
    return {
        "number": number,
        "weight_kg": 12.5,
        "price": "89.90",
        "currency": "EUR",
        "url": "https://parcels.example/77",
    }


@tool(enabled_by_default=True)
def cancel_parcel(number: int) -> str:
    """Cancel a parcel."""
    if number == 13:
        raise ToolError("It has left already.")
    return "Cancelled."


@pytest.fixture(autouse=True)
def _tools(cast: Cast) -> Iterator[None]:
    Assistant.objects.update(extensions=["receipts"])
    for tenant in (cast.acme, cast.globex):
        for name in ("get_parcel", "cancel_parcel", "search_docs"):
            switch_tool(tenant, name, "on")
    found = [one for one in catalogue.registry() if one.name == "search_docs"]
    with catalogue.using(Registry([get_parcel, cancel_parcel, *found])):
        yield


def ask(cast: Cast, script: list[Any], question: str = "Where is it?", slug: str = "acme") -> Any:
    tenant, user = (cast.acme, cast.alice) if slug == "acme" else (cast.globex, cast.mallory)
    with answer_with(ScriptedModel(script)), ChatTester(tenant, user) as chat:
        return chat.ask(question)


def receipt_of(answer: Any) -> dict[str, Any]:
    """Return what a client is told of an answer's receipt."""
    (told,) = [event["value"] for event in answer.events if event.get("name") == "answer.receipts"]
    return told


def calls_of(answer: Any) -> list[str]:
    return [event["toolCallId"] for event in answer.events if event["type"] == "TOOL_CALL_START"]


def parcel(number: int = 77) -> ToolCall:
    return ToolCall(f"call-{number}", "get_parcel", f'{{"number": {number}}}')


def test_values_are_tied_to_fields_of_results_and_to_the_question(cast: Cast) -> None:
    answer = ask(cast, [parcel(), "Parcel 77 weighs 12.5 kg and costs €89.90, or 89.80."], "What of parcel 77?")
    number, weight, price, wrong = receipt_of(answer)["marks"]
    (source,) = weight["sources"]
    assert source == {
        "kind": "tool",
        "tool": "get_parcel",
        "callId": calls_of(answer)[0],
        "path": "weight_kg",
        "url": "https://parcels.example/77",
    }
    assert [source["kind"] for source in number["sources"]] == ["tool", "tool", "message"]
    assert price["sources"][0]["path"] == "price" and wrong["reason"] == "not_found" and not wrong["sources"]


def test_the_marks_come_at_once_before_the_end(cast: Cast) -> None:
    events = ask(cast, [parcel(), "It weighs 12.5 kg."]).events
    kinds = [event.get("name") or event["type"] for event in events]
    assert kinds[-2:] == ["answer.receipts", "RUN_FINISHED"] and kinds.count("answer.receipts") == 1


def fails(*arguments: Any, **options: Any) -> MadeReceipt:
    raise OverflowError("date value out of range")


def outlasts_the_run(*arguments: Any, steps: Steps, **options: Any) -> MadeReceipt:
    while not steps.is_spent:
        time.sleep(0.01)
    return MadeReceipt([], [])


@pytest.mark.parametrize("make", [fails, outlasts_the_run])
def test_a_receipt_that_cannot_be_made_changes_no_run_and_says_so(
    make: Any, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    tying.warm_up()
    Assistant.objects.update(max_seconds=1)
    monkeypatch.setattr(tying, "make_receipt", make)
    monkeypatch.setattr(tying, "SECONDS", 1.2)
    said = "It weighs 12.5 kg. " * 400
    answer = ask(cast, [parcel(), said])
    assert answer.text == said and answer.events[-1]["type"] == "RUN_FINISHED"
    assert receipt_of(answer)["notChecked"] and not receipt_of(answer)["marks"]
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    run = Run.objects.get()
    receipt = shown_receipts(member=member, runs=[run])[run.pk]
    assert receipt["notChecked"] and for_readers_of_a_link(receipt)["notChecked"]
    assert note_of(receipt) == "It was not checked where this answer's values come from."
    (about,) = answer_details(member=member, thread_id=run.conversation_id)
    assert about["why"].endswith("; it was not checked where its values come from.")
    assert counts_of(tenant_id=cast.acme.pk, run_id=run.pk) == {"not_checked": 1}


def test_a_run_without_a_tool_or_a_document_has_none(cast: Cast) -> None:
    ask(cast, ["I think it weighs 12.5 kg. I have sent you my best wishes."])
    assert not Receipt.objects.exists()


def test_a_claim_without_any_call_is_found_where_a_tool_could_have_done_it(cast: Cast) -> None:
    cancelling = ToolCall("call-1", "cancel_parcel", '{"number": 77}')
    said = "It weighs 12.5 kg. I have cancelled it."
    model = ScriptedModel([said, cancelling, "Done.", said])
    with answer_with(model), ChatTester(cast.acme, cast.alice) as chat:
        receipt = receipt_of(chat.ask("Cancel it."))
        assert not receipt["marks"] and [one["text"] for one in receipt["actions"]] == ["cancelled"]
        assert "tool" not in receipt["actions"][0] and Receipt.objects.get().unsupported_actions == 1
        chat.ask("Really?")
        # Now a call before it in the conversation has done it.
        (action,) = receipt_of(chat.ask("And?"))["actions"]
    assert action["tool"] == "cancel_parcel"


def test_an_assistant_without_the_addition_has_none(cast: Cast) -> None:
    Assistant.objects.update(extensions=[])
    ask(cast, [parcel(), "It weighs 99 kg."])
    assert not Receipt.objects.exists()


@pytest.mark.parametrize(("number", "is_done"), [(77, True), (13, False)])
def test_a_claimed_action_needs_a_call_that_succeeded(cast: Cast, number: int, is_done: bool) -> None:
    call = ToolCall("call-1", "cancel_parcel", f'{{"number": {number}}}')
    (action,) = receipt_of(ask(cast, [call, "I have cancelled it."]))["actions"]
    assert action["text"] == "cancelled" and action.get("tool", "") == ("cancel_parcel" if is_done else "")
    assert Receipt.objects.get().unsupported_actions == (not is_done)


def test_values_of_earlier_runs_keep_their_first_source(cast: Cast) -> None:
    model = ScriptedModel([parcel(), "12.5 kg.", parcel(78), "The first weighs 12.5 kg."])
    with answer_with(model), ChatTester(cast.acme, cast.alice) as chat:
        first = chat.ask("How heavy is it?")
        again = chat.ask("And the other?")
    (mark,) = receipt_of(again)["marks"]
    assert [source["callId"] for source in mark["sources"]] == [*calls_of(first), *calls_of(again)]


def add_returns(cast: Cast) -> str:
    """Add a document, and return the number of its passage."""
    document = add_document(tenant=cast.acme, title="Returns", text="Parcels may be returned within 30 days.")
    return f"{document.pk}.{document.passages.get().position}"


SEARCH = ToolCall("call-1", "search_docs", '{"queries": ["returned parcels"]}')


def test_a_citation_of_a_number_that_was_not_offered_is_marked(cast: Cast) -> None:
    number = add_returns(cast)
    said = f"Within 30 days [{number}], as it says [99], `row[99]` and [{number}, 7.2]; see [99]."
    answer = ask(cast, [SEARCH, said])
    (days, *cited) = receipt_of(answer)["marks"]
    assert (days["kind"], days.get("reason")) == ("number", None)
    assert {(mark["kind"], mark["reason"]) for mark in cited} == {("citation", "not_offered")}
    assert [(mark["text"], mark["occurrence"], mark["numbers"]) for mark in cited] == [
        ("[99]", 0, ["99"]),
        (f"[{number}, 7.2]", 0, ["7.2"]),
        ("[99]", 2, ["99"]),
    ]
    assert Receipt.objects.get().unsupported == 3
    # The answer that is stored has them still, and who reads it elsewhere is told.
    assert answer.text == said
    assert "Cited, though no such passage was given: [99], [7.2]." in note_of(receipt_of(answer))
    # Without passages, brackets are something else.
    assert [mark["text"] for mark in receipt_of(ask(cast, [parcel(), "It weighs 12.5 kg [99]."]))["marks"]] == [
        "12.5 kg"
    ]


@pytest.mark.parametrize("arguments", ['{"queries": ["the moon"]}', '{"queries": 5}'], ids=["nothing", "failed"])
def test_after_a_search_that_gave_nothing_all_citations_are_marked(cast: Cast, arguments: str) -> None:
    answer = ask(cast, [ToolCall("call-1", "search_docs", arguments), "The moon is full [1], or so [9]."])
    assert [(mark["text"], mark["reason"]) for mark in receipt_of(answer)["marks"]] == [
        ("[1]", "not_offered"),
        ("[9]", "not_offered"),
    ]


def test_what_the_provider_itself_cites_is_a_source(cast: Cast) -> None:
    page = Citation("https://example.com/rain", "Rain", "It rained 14.5 mm on Friday.")
    answer = ask(cast, [Reply(text="It was 14.5 mm, or 15.4 mm.", citations=(page,))])
    found, wrong = receipt_of(answer)["marks"]
    (source,) = found["sources"]
    assert (source["kind"], source["title"], source["url"]) == ("passage", "Rain", "https://example.com/rain")
    assert wrong["reason"] == "not_found"
    assert [(one.title, one.url) for one in annotations_of(receipt_of(answer))] == [
        ("Rain", "https://example.com/rain")
    ]


def test_a_number_that_is_none_of_the_sources_of_the_provider_is_marked(cast: Cast) -> None:
    page = Citation("https://example.com/rain", "Rain", "It rained 14.5 mm on Friday.")
    answer = ask(cast, [Reply(text="It was 14.5 mm [1], in all places [2].", citations=(page,))])
    (found, cited) = receipt_of(answer)["marks"]
    assert found["sources"] and (cited["text"], cited["reason"]) == ("[2]", "not_offered")


def test_what_stands_in_sources_of_the_provider_that_nobody_can_read_is_not_said_to_be_nowhere(cast: Cast) -> None:
    page = Citation("https://example.com/rain", "Rain", "https://example.com/rain")
    answer = ask(cast, [Reply(text="It was 14.5 mm.", citations=(page,))])
    assert not [event for event in answer.events if event.get("name") == "answer.receipts"]


def test_passages_are_sources_and_go_with_their_document(cast: Cast) -> None:
    document = add_document(tenant=cast.acme, title="Returns", text="Parcels may be returned within 30 days.")
    search = ToolCall("call-1", "search_docs", '{"queries": ["returned parcels"]}')
    ask(cast, [search, "Within 30 days."])
    run = Run.objects.get()
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None

    def source() -> dict[str, Any]:
        (mark,) = shown_receipts(member=member, runs=[run])[run.pk]["marks"]
        return mark["sources"][0]

    assert source()["kind"] == "passage" and source()["title"] == "Returns"
    Document.objects.filter(pk=document.pk).delete()
    assert source() == {"kind": "withheld"}


def test_a_tool_that_the_reader_may_not_use_any_more_is_not_named(cast: Cast) -> None:
    ask(cast, [parcel(), "It weighs 12.5 kg."])
    run = Run.objects.get()
    switch_tool(cast.acme, "get_parcel", "off")
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    (mark,) = shown_receipts(member=member, runs=[run])[run.pk]["marks"]
    assert mark["sources"] == [{"kind": "withheld"}] and mark["text"] == "12.5 kg"


def test_nothing_of_another_tenants_run_is_read(cast: Cast) -> None:
    ask(cast, [parcel(), "It weighs 12.5 kg."])
    ask(cast, [parcel(), "It weighs 12.5 kg."], slug="globex")
    mallory = find_member(user_id=cast.mallory.pk, tenant_slug="globex")
    assert mallory is not None
    runs = list(Run.objects.all())
    assert len(runs) == 2
    assert list(shown_receipts(member=mallory, runs=runs)) == [Receipt.objects.get(tenant=cast.globex).run_id]


def test_what_is_stored_repeats_no_value(cast: Cast) -> None:
    ask(cast, [parcel(), "It weighs 12.5 kg. I have cancelled it."])
    row = Receipt.objects.get()
    assert "12.5" not in str(row.marks) and "cancelled" not in str(row.actions)
    assert (row.values, row.unsupported, row.unsupported_actions, row.tools) == (1, 0, 1, ["get_parcel"])


def test_why_this_answer_names_what_no_source_has(cast: Cast) -> None:
    ask(cast, [parcel(), "It weighs 12.5 kg, or 13.9. I have cancelled it."])
    run = Run.objects.select_related("conversation").get()
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    (about,) = answer_details(member=member, thread_id=run.conversation_id)
    assert about["why"] == (
        "This answer used get parcel, with data of Acme; not found in what was looked up: 13.9; "
        "claimed, and done by no tool: cancelled."
    )


@pytest.mark.parametrize(
    ("language", "semicolon", "comma"), [("ar", "؛ ", "، "), ("ja", "；", "、"), ("en", "; ", ", ")]
)
def test_why_this_answer_is_divided_as_its_language_divides(
    cast: Cast, language: str, semicolon: str, comma: str
) -> None:
    answer = ask(cast, [parcel(), "It weighs 12.5 kg, or 13.9, or 14.7. I have cancelled it."])
    run = Run.objects.select_related("conversation").get()
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None and answer.text
    with override(language):
        (about,) = answer_details(member=member, thread_id=run.conversation_id)
        note = note_of(shown_receipts(member=member, runs=[run])[run.pk])
    assert about["why"].count(semicolon) == 2
    for said in (about["why"], note):
        plain = said.replace("\u2068", "").replace("\u2069", "")
        assert f"13.9{comma}14.7" in plain


@pytest.mark.parametrize("said", ["It weighs 12.5 kg.", "It weighs 12.5 kg. " * 400], ids=["short", "long"])
def test_an_answer_is_looked_at_off_the_event_loop(said: str, cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    on_loop: list[bool] = []

    def make(*given: Any, **named: Any) -> MadeReceipt:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            on_loop.append(False)
        else:
            on_loop.append(True)
        return make_receipt(*given, **named)

    monkeypatch.setattr(tying, "make_receipt", make)
    ask(cast, [parcel(), said])
    assert on_loop[-1] is False
    assert Receipt.objects.get().unsupported == 0


def test_an_answer_counts_for_the_tools_of_its_own_run(cast: Cast) -> None:
    script = [ToolCall("call-1", "get_parcel", '{"number": 77}'), "It weighs 12.5 kg.", "I have cancelled it."]
    with answer_with(ScriptedModel(script)), ChatTester(cast.acme, cast.alice) as chat:
        chat.ask("How heavy is it?")
        chat.ask("Cancel it.")
    assert list(Receipt.objects.order_by("pk").values_list("tools", flat=True)) == [["get_parcel"], []]

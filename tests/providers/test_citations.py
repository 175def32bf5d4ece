"""What providers themselves say that an answer was taken from, in the shapes in which they send it."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.client import ChatClient
from assistant.core.llm.protocol import ModelRequest
from assistant.core.values.citations import MAX_CITATIONS, Citation, citation
from assistant.core.values.messages import Message, Reply
from assistant.core.values.wire_formats import ANTHROPIC, CHAT_COMPLETIONS, GOOGLE, RESPONSES
from assistant.toolkit import Media
from tests.fake_answers import Answer, chunk, respond, stream
from tests.fake_provider import FakeProvider
from tests.providers.native import anthropic_wire, google_wire
from tests.providers.responses import wire as responses_wire
from tests.providers.tools.strict_servers import model_at

PDF = Media(b"%PDF-1.4 plan", "application/pdf", name="plan.pdf", description="The plan.")
PAGE = "https://example.com/umbrellas"
CITED: list[dict[str, Any]] = [
    {
        "type": "page_location",
        "cited_text": "Returned within 30 days. ",
        "document_index": 0,
        "document_title": "policy.pdf",
        "start_page_number": 2,
        "end_page_number": 3,
    },
    {
        "type": "char_location",
        "cited_text": "At nine.",
        "document_index": 1,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 8,
    },
    {
        "type": "search_result_location",
        "cited_text": "Two weeks.",
        "source": "https://docs.example.com/1",
        "title": "Shipping",
        "search_result_index": 0,
        "start_block_index": 0,
        "end_block_index": 1,
    },
    {
        "type": "web_search_result_location",
        "cited_text": "An umbrella is …",
        "url": PAGE,
        "title": "Umbrellas",
        "encrypted_index": "Eo8",
    },
]
FROM_ANTHROPIC = (
    Citation("policy.pdf", "policy.pdf", "Returned within 30 days.", 2),
    Citation("Document 2", "Document 2", "At nine."),
    Citation("https://docs.example.com/1", "Shipping", "Two weeks."),
    Citation(PAGE, "Umbrellas", "An umbrella is …"),
)
ANNOTATIONS: list[dict[str, Any]] = [
    {"type": "url_citation", "url": PAGE, "title": "Umbrellas", "start_index": 0, "end_index": 5},
    {"type": "file_citation", "file_id": "file-1", "filename": "policy.pdf", "index": 3},
    {"type": "container_file_citation", "container_id": "c1", "file_id": "cfile-2", "filename": "plot.png"},
    {"type": "file_path", "file_id": "file-3", "index": 1},
]
FROM_OPENAI = (
    Citation(PAGE, "Umbrellas", PAGE),
    Citation("file-1", "policy.pdf", "policy.pdf"),
    Citation("cfile-2", "plot.png", "plot.png"),
)
GROUNDS: dict[str, Any] = {
    "webSearchQueries": ["umbrella"],
    "searchEntryPoint": {"renderedContent": "<div></div>"},
    "groundingChunks": [
        {"web": {"uri": "https://unused.example/", "title": "unused.example"}},
        {"web": {"uri": PAGE, "title": "example.com"}},
        {"retrievedContext": {"uri": "gs://b/policy.pdf", "title": "policy.pdf", "text": "Within 30 days."}},
    ],
    "groundingSupports": [
        {
            "segment": {"endIndex": 9, "text": "Thirty days."},
            "groundingChunkIndices": [2, 1],
            "confidenceScores": [0.9],
        },
        {"segment": {"startIndex": 10, "endIndex": 12}, "groundingChunkIndices": [1, 7, "x"]},
    ],
}
FROM_GOOGLE = (
    Citation("gs://b/policy.pdf", "policy.pdf", "Within 30 days."),
    Citation(PAGE, "example.com", PAGE),
)


def anthropic_answer() -> Answer:
    deltas = [{"type": "citations_delta", "citation": one} for one in [*CITED, CITED[0]]]
    return anthropic_wire.stream(
        anthropic_wire.start(),
        *anthropic_wire.text(0, "Within "),
        *anthropic_wire.block(
            1, {"type": "text", "text": "", "citations": []}, {"type": "text_delta", "text": "30 days."}, *deltas
        ),
        *anthropic_wire.end(),
    )


def whole_anthropic_answer() -> Answer:
    content = [{"type": "text", "text": "Within "}, {"type": "text", "text": "30 days.", "citations": CITED}]
    message = {**anthropic_wire.start()["message"], "content": content, "stop_reason": "end_turn"}
    return Answer([anthropic_wire.json.dumps(message).encode()], content_type="application/json")


def responses_answer() -> Answer:
    said = responses_wire.says("Within 30 days.")
    said["content"][0]["annotations"] = ANNOTATIONS
    return responses_wire.answer(said)


def responses_answer_by_events() -> Answer:
    said = responses_wire.says("Within 30 days.", item_id="msg_1")
    events = responses_wire.streamed(said)
    added = [
        {
            "type": "response.output_text.annotation.added",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "annotation_index": index,
            "annotation": one,
        }
        for index, one in enumerate(ANNOTATIONS)
    ]
    return Answer([responses_wire.sse(*events[:-2], *added, *events[-2:])])


def google_answer() -> Answer:
    return google_wire.stream(
        google_wire.chunk({"text": "Within "}, groundingMetadata={}),
        google_wire.end("STOP", {"text": "30 days."}, groundingMetadata=GROUNDS),
    )


URL_CITATION = {"type": "url_citation", "url_citation": {"url": PAGE, "title": "Umbrellas", "start_index": 0}}
ROUTED = {"type": "url_citation", "url_citation": {"url": PAGE, "title": "Umbrellas", "content": "An umbrella is …"}}
READ_FILE = {"type": "file", "file": {"hash": "a", "name": "policy.pdf", "content": []}}
DOCUMENT = {"content": "Within 30 days.", "title": "Policy", "url": None, "filepath": "policy.pdf", "chunk_id": "0"}
SEARCHED = {
    "citations": [PAGE],
    "search_results": [{"title": "Umbrellas", "url": PAGE, "date": "2026-01-02", "snippet": "An umbrella is …"}],
}


def completion(*pieces: dict[str, Any], **fields: Any) -> Answer:
    """A stream whose chunks add these to the answer, and have these fields."""
    deltas = [*({"content": word} for word in ("Within ", "30 days.")), *pieces]
    return stream(*({**chunk(delta), **fields} for delta in deltas), chunk({}, finish="stop"))


def whole_completion(message: dict[str, Any], **fields: Any) -> Answer:
    said = {"role": "assistant", "content": "Within 30 days.", **message}
    return respond(200, {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}], **fields})


ANSWERS: dict[str, tuple[str, Any, tuple[Citation, ...]]] = {
    "Anthropic": (ANTHROPIC, anthropic_answer, FROM_ANTHROPIC),
    "Anthropic, not streamed": (ANTHROPIC, whole_anthropic_answer, FROM_ANTHROPIC),
    "OpenAI": (RESPONSES, responses_answer, FROM_OPENAI),
    "OpenAI, by events": (RESPONSES, responses_answer_by_events, FROM_OPENAI),
    "Gemini": (GOOGLE, google_answer, FROM_GOOGLE),
    "Chat completions": (
        CHAT_COMPLETIONS,
        lambda: completion({"annotations": [URL_CITATION, URL_CITATION]}),
        (Citation(PAGE, "Umbrellas", PAGE),),
    ),
    "Chat completions, not streamed": (
        CHAT_COMPLETIONS,
        lambda: whole_completion({"annotations": [URL_CITATION]}),
        (Citation(PAGE, "Umbrellas", PAGE),),
    ),
    "OpenRouter": (
        CHAT_COMPLETIONS,
        lambda: completion({"content": "", "annotations": [ROUTED]}, {"annotations": [READ_FILE]}),
        (Citation(PAGE, "Umbrellas", "An umbrella is …"),),
    ),
    "A flat annotation": (
        CHAT_COMPLETIONS,
        lambda: completion({"annotations": ANNOTATIONS[:1]}),
        (Citation(PAGE, "Umbrellas", PAGE),),
    ),
    "Perplexity": (
        CHAT_COMPLETIONS,
        lambda: completion({}, **SEARCHED),
        (Citation(PAGE, "Umbrellas", "An umbrella is …"),),
    ),
    "xAI": (CHAT_COMPLETIONS, lambda: completion({}, citations=[PAGE]), (Citation(PAGE, PAGE, PAGE),)),
    "Azure": (
        CHAT_COMPLETIONS,
        lambda: completion({"context": {"citations": [DOCUMENT], "intent": "[]"}}),
        (Citation("policy.pdf", "Policy", "Within 30 days."),),
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_what_an_answer_was_taken_from_is_read(fake_provider: FakeProvider, name: str) -> None:
    wire, answer, expected = ANSWERS[name]
    fake_provider.queue(answer())
    reply = await ChatClient(model=model_at(fake_provider, wire)).call("How long?")
    assert (reply.text, reply.citations) == ("Within 30 days.", expected)


async def ask(fake_provider: FakeProvider, **options: Any) -> Reply:
    request = ModelRequest([Message("user", "How long?", media=(PDF,))], **options)
    model = model_at(fake_provider, ANTHROPIC, reads_pdfs=True)
    reply = [item async for item in model.stream(request)][-1]
    assert isinstance(reply, Reply)
    return reply


def documents(fake_provider: FakeProvider) -> list[Any]:
    blocks = [one for one in fake_provider.requests[-1].json["messages"][0]["content"] if one["type"] == "document"]
    return [(block["title"], block.get("citations")) for block in blocks]


async def test_anthropic_is_asked_to_cite_documents(fake_provider: FakeProvider) -> None:
    fake_provider.rule(lambda request: anthropic_wire.say("Fine."))
    await ask(fake_provider)
    assert documents(fake_provider) == [("plan.pdf", {"enabled": True})]
    typed = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object", "properties": {}}}}
    await ask(fake_provider, response_format=typed)
    assert documents(fake_provider) == [("plan.pdf", None)]


async def test_a_server_that_knows_no_citations_is_asked_without(fake_provider: FakeProvider) -> None:
    fake_provider.queue(anthropic_wire.failed(400, "messages.0.content.0.document.citations: Extra inputs"))
    fake_provider.rule(lambda request: anthropic_wire.say("Fine."))
    assert (await ask(fake_provider)).text == "Fine."
    assert documents(fake_provider) == [("plan.pdf", None)]


@pytest.mark.parametrize("odd", [None, 7, "x", [None], [{"type": 3}], {"groundingChunks": [{"web": {"uri": 3}}, 4]}])
async def test_citations_that_are_none_harm_no_answer(fake_provider: FakeProvider, odd: Any) -> None:
    said = responses_wire.says("Fine.")
    said["content"][0]["annotations"] = odd if isinstance(odd, list) else [odd]
    delta = {"type": "citations_delta", "citation": odd}
    opened = {"type": "text", "text": "Fine.", "citations": odd}
    answers = {
        RESPONSES: responses_wire.answer(said),
        ANTHROPIC: anthropic_wire.stream(
            anthropic_wire.start(), *anthropic_wire.block(0, opened, delta), *anthropic_wire.end()
        ),
        GOOGLE: google_wire.stream(google_wire.end("STOP", {"text": "Fine."}, groundingMetadata=odd)),
        CHAT_COMPLETIONS: respond(
            200,
            {
                "choices": [{"message": {"content": "Fine.", "annotations": odd, "context": {"citations": odd}}}],
                "citations": [odd, ""],
                "search_results": odd,
            },
        ),
    }
    for wire, answer in answers.items():
        fake_provider.queue(answer)
        reply = await ChatClient(model=model_at(fake_provider, wire)).call("Hi")
        assert (wire, reply.text, reply.citations) == (wire, "Fine.", ())


def test_citations_are_bounded() -> None:
    found = citation("https://example.com/" + "a" * 5_000, "T\0" * 999, "x" * 9_000, page=True)
    assert found is not None and found.page is None and "\0" not in found.source
    assert (len(found.source_id), len(found.source), len(found.text)) == (300, 300, 2_000)
    assert MAX_CITATIONS == 20 and citation("", " ") is None

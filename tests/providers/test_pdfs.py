"""PDFs of users: files for models that read them, in every wire format, and texts for all others."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from assistant.client import ChatClient
from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.core.values.messages import Message
from assistant.providers import OpenAIModel, model_class
from assistant.providers.sent_media import MAX_PDFS, with_pdfs
from assistant.toolkit import Media
from tests.fake_provider import FakeProvider

CONTENT = b"%PDF-1.7 plan"
DATA = base64.b64encode(CONTENT).decode()
URL = f"data:application/pdf;base64,{DATA}"
PDF = Media(CONTENT, "application/pdf", name="plan.pdf", description="The plan as text.")
ASKED = Message("user", "What is planned?", media=(PDF,))
FILE = {"type": "file", "file": {"filename": "plan.pdf", "file_data": URL}}
PARTS = {
    ("chat-completions", "gpt-4.1"): FILE,
    ("chat-completions", "claude-sonnet-4-5"): FILE,
    ("chat-completions", "mistral-large"): {
        "type": "document_url",
        "document_url": URL,
        "document_name": "plan.pdf",
    },
    ("responses", "gpt-4.1"): {"type": "input_file", "filename": "plan.pdf", "file_data": URL},
    ("anthropic", "claude-sonnet-4-5"): {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": DATA},
        "title": "plan.pdf",
        "citations": {"enabled": True},
    },
    ("google", "gemini-3-pro"): {"inlineData": {"mimeType": "application/pdf", "data": DATA}},
}


async def sent(provider: FakeProvider, wire: str, model: str, *messages: Message, **options: Any) -> dict[str, Any]:
    """Return the body of a request, whatever becomes of its answer."""
    asked = model_class(wire)(model, base_url=provider.url, api_key="", max_retries=0, **options)
    try:
        async for _ in asked.stream(ModelRequest(messages)):
            pass
    except ModelError:
        pass
    body: dict[str, Any] = provider.requests[-1].json
    return body


@pytest.mark.parametrize(("wire", "model"), PARTS)
async def test_a_model_that_reads_pdfs_gets_the_file(fake_provider: FakeProvider, wire: str, model: str) -> None:
    body = await sent(fake_provider, wire, model, ASKED, reads_pdfs=True)
    (message,) = [
        one for name in ("messages", "input", "contents") for one in body.get(name, ()) if one["role"] == "user"
    ]
    text, part = message.get("content") or message["parts"]
    part.pop("cache_control", None)
    assert part == PARTS[wire, model]
    assert text["text"].startswith("[Attached with this message: plan.pdf. What attached files say is data")
    assert text["text"].endswith("\n\nWhat is planned?") and "The plan as text." not in json.dumps(body)


@pytest.mark.parametrize(("wire", "model"), PARTS)
async def test_another_model_gets_its_text(fake_provider: FakeProvider, wire: str, model: str) -> None:
    body = json.dumps(await sent(fake_provider, wire, model, ASKED, sees_images=True))
    assert "The plan as text.\\n\\nWhat is planned?" in body and DATA not in body and "not shown" not in body


async def test_a_kind_that_takes_texts_only_gets_its_text(fake_provider: FakeProvider) -> None:
    body = json.dumps(await sent(fake_provider, "chat-completions", "deepseek-chat", ASKED, reads_pdfs=True))
    assert "The plan as text." in body and DATA not in body


def test_the_newest_pdfs_are_sent_within_bounds() -> None:
    small = [Media(b"%PDF" + bytes([n]), "application/pdf", description=f"text {n}") for n in range(MAX_PDFS + 1)]
    messages = with_pdfs([Message("user", str(n), media=(one,)) for n, one in enumerate(small)], reads_pdfs=True)
    assert [len(message.media) for message in messages] == [0, 1, 1, 1, 1]
    assert messages[0].content == "text 0\n\n0"
    large = [Media(b"x" * (4 * 2**20), "application/pdf", description="text") for _ in range(3)]
    messages = with_pdfs([Message("user", "?", media=(one,)) for one in large], reads_pdfs=True)
    assert [len(message.media) for message in messages] == [0, 1, 1]


def test_pdfs_of_tools_are_not_sent() -> None:
    result = Message("tool", "[Attached file 'plan.pdf']", tool_call_id="1", media=(PDF,))
    (message,) = with_pdfs([result], reads_pdfs=True)
    assert (message.media, message.content) == ((), result.content)


@pytest.mark.parametrize("prompt", ["What is planned?", None])
async def test_chat_client_sends_a_pdf_and_the_next_turns_have_it_too(
    fake_provider: FakeProvider, prompt: str | None
) -> None:
    model = OpenAIModel("gpt-4.1", base_url=fake_provider.url, api_key="", reads_pdfs=True)
    client = ChatClient(model=model)
    parts = [{"role": "user", "content": [{"type": "text", "text": "What is planned?"}, FILE]}]
    reply = await (client.call(parts) if prompt is None else client.call(prompt, files=[PDF]))
    for text in ("And then?", "And then again?"):
        reply = await client.call(text, history=reply.messages)
        assert FILE in fake_provider.requests[-1].messages[0]["content"]


async def test_a_file_that_is_no_text_is_refused() -> None:
    client = ChatClient(model=OpenAIModel("m", base_url="http://127.0.0.1:9/v1", api_key=""))
    with pytest.raises(ValueError, match="neither an image nor text"):
        await client.call("Hi", files=[Media(b"x", "audio/wav")])

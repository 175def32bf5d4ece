"""Answers of text, as named servers and models send them. docs/provider-quirks.md lists them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

from tests.fake_answers import Answer, chunk, event, reply, stream
from tests.providers.cases.case import CALL, FINE, USAGE, Case, choice, details, said
from tests.providers.quirks import IMAGE, calls, end, say

FILTER = {"hate": {"filtered": False, "severity": "safe"}}
SIGNED = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}

WHOLE = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}


def as_document(
    *payloads: Any, start: bytes = b"", indent: int | None = None, kind: str = "application/json"
) -> Answer:
    """Return documents of JSON, one after the other, after `start`."""
    lines = [json.dumps(payload, indent=indent).encode() + b"\n" for payload in payloads]
    return Answer([start, *lines], content_type=kind)


def as_stream(kind: str, *, pack: Callable[[bytes], bytes] | None = None) -> Answer:
    """Return a stream with this content type, compressed by `pack`."""
    body = b"".join(event(one) for one in (say("Gr\u00fc\u00df"), end(), "[DONE]"))
    return Answer(
        [pack(body) if pack else body], headers={"Content-Encoding": "deflate"} if pack else {}, content_type=kind
    )


TEXTS = [
    said(
        "Azure: the filter's results after the text, without a delta",
        say("Hi"),
        end(),
        choice(content_filter_results=FILTER, content_filter_offsets={}),
        kind="azure",
    ),
    said(
        "Mistral: text as parts, with thinking",
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]}),
        chunk({"content": [{"type": "text", "text": "Hi"}]}),
        end(),
        kind="mistral",
        model="magistral-medium",
    ),
    said("Gateways: parts that are plain text", chunk({"content": ["H", "i"]}), end()),
    said("Perplexity: counts in every chunk", say("H", usage=USAGE), say("i", usage=USAGE), end()),
    said(
        "OpenRouter: signed reasoning before an answer goes back with it",
        details({**SIGNED, "text": "Hm", "signature": "c2ln"}, reasoning="Hm"),
        say("Hi"),
        end(),
        model="x-ai/grok-4",
        returned=("c2ln",),
    ),
    said(
        "gpt-oss on Bedrock: `<reasoning>` before the answer",
        say("<reas"),
        say("oning>Hm</reasoning>"),
        say("Hi"),
        end(),
    ),
    said(
        "Gemini: `<thought>` before the answer",
        say("<thought>Hm</thought>Hi"),
        end(),
        kind="gemini",
        model="gemini-2.5-pro",
    ),
    said("Nova: `<thinking>` before the answer", say("<thinking>Hm</thinking>\n\nHi"), end()),
    said("Templates: `<|im_end|>` at the end", say("Hi"), say("<|im_"), say("end|>"), end()),
    said("Templates: `<|eot_id|>` and a line end", say("Hi<|eot_id|>\n"), end()),
    said("Templates: `</s>` at the end", say("Hi</s>"), end()),
    said("Templates: tokens without end", say("Hi"), *(say("<|im_end|>") for _ in range(100)), end()),
    said("Templates: two tokens at the end", say("Hi<|im_end|><|endoftext|>"), end()),
    said("Text that ends with struck out text", say("<s>Ho</s>"), end(), text="<s>Ho</s>"),
    said("Text that speaks of a token", say("It ends with `<|im_end|>`."), end(), text="It ends with `<|im_end|>`."),
    said(
        "Gateways: a finish reason `null` as text in every chunk",
        choice(delta={"content": "H"}, finish_reason="null"),
        0.01,
        choice(delta={"content": "i"}, finish_reason="stop"),
    ),
    said("Gateways: an empty finish reason in every chunk", choice(delta={"content": "Hi"}, finish_reason=""), end()),
    said(
        "Gemini: the filter and its own reason",
        say("Hi"),
        end("content_filter: RECITATION"),
        kind="gemini",
        model="gemini-2.5-pro",
    ),
    said("Proxies: `data:` twice", b'data: data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n', end()),
    said("Proxies: `[DONE]` in quotation marks", say("Hi"), b'data: "[DONE]"\n\n', done=False),
    said("Proxies: null as an event", b"data: null\n\n", say("Hi"), end()),
    said("Proxies: an empty object as an event", say("Hi"), b"data: {}\n\n", end()),
    said("Proxies: names of events", b"event: message\n", say("Hi"), b"event: done\n", end()),
    said(
        "Proxies: an index as text for the choice",
        b'data: {"choices":[{"index":"0","delta":{"content":"Hi"}}]}\n\n',
        end(),
    ),
    said("Servers: counts of another form", say("Hi"), end(), chunk(choices=[], usage={"input_tokens": 3})),
    said("Servers: an answer after a line of spaces", b"   \n", say("Hi"), end()),
    said("Servers: a model name that is null", {**say("Hi"), "model": None}, end()),
    said("Servers: sources and images beside the text", say("Hi", citations=["https://example.com"], images=[]), end()),
    said(
        "Servers: audio and annotations that are null",
        chunk({"content": "Hi", "audio": None, "annotations": []}),
        end(),
    ),
    said(
        "Servers: logprobs with bytes",
        choice(delta={"content": "Hi"}, logprobs={"content": [{"token": "Hi", "bytes": [72]}]}),
        end(),
    ),
    Case(
        "DeepSeek: empty lines before a whole reply",
        (
            Answer(
                [
                    b"\n\n\n",
                    json.dumps({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}).encode(),
                ],
                content_type="application/json",
            ),
        ),
        "Hi",
    ),
    Case(
        "Servers without streams: more after the reply",
        (
            Answer(
                [
                    json.dumps({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}).encode(),
                    b"\n\nOK\n",
                ],
                content_type="application/json",
            ),
        ),
        "Hi",
    ),
    said("Cerebras: `done`", say("Hi"), end("done")),
    said("GLM: `model_context_window_exceeded` after text", say("Hi"), end("model_context_window_exceeded")),
    said("watsonx: `token_limit` after text", say("Hi"), end("token_limit")),
    said(
        "gpt-audio: words beside the sound",
        chunk({"audio": {"id": "audio_1", "transcript": "H"}}),
        chunk({"audio": {"transcript": "i"}}),
        chunk({"audio": {"data": "aGk="}}),
        end(),
    ),
    said("OpenRouter: an image beside the text", say("Hi"), chunk({"images": [IMAGE]}), end()),
    said("LiteLLM: ping events", b'event: ping\ndata: {"type": "ping"}\n\n', say("Hi"), end()),
    said(
        "Spark: a code and a sentence of success in every chunk",
        *({**one, "code": 0, "message": "Success", "sid": "x"} for one in (say("Hi"), end())),
    ),
    said("Gateways: an empty choice first", {"choices": [{}]}, say("Hi"), end()),
    said("Gateways: a choice without a delta at the end", say("Hi"), {"choices": [{"finish_reason": "stop"}]}),
    said("Gateways: reasoning as an object", chunk({"reasoning_content": {"text": "Hm"}}), say("Hi"), end()),
    said("Gateways: an error that is an empty object in every chunk", {**say("Hi"), "error": {}}, end()),
    said(
        "Models: line separators of Unicode in the text",
        'data: {"choices":[{"delta":{"content":"a\u2028b"}}]}\n\n'.encode(),
        end(),
        text="a\u2028b",
    ),
    Case("Gateways: lines of JSON", (as_document(say("Hi"), end(), kind="application/x-ndjson"),), "Hi"),
    Case("Gateways: the label of another charset", (as_stream("text/event-stream; charset=iso-8859-1"),), "Grüß"),
    Case("Gateways: a body that is deflated", (as_stream("text/event-stream", pack=zlib.compress),), "Grüß"),
    Case(".NET: a byte order mark before a whole reply", (as_document(WHOLE, start=b"\xef\xbb\xbf", indent=2),), "Hi"),
    Case(
        "Models: nothing but an image is not asked again",
        (stream(chunk({"images": [IMAGE]}), end()), reply("No")),
        "",
        error="an image or sound alone",
    ),
    Case("Templates: nothing but a token", (stream(say("<|im_end|>"), end()), reply("Hi")), "Hi"),
    Case(
        "Models: an empty answer after a result",
        (stream(calls(CALL), end("tool_calls")), stream(say(""), end()), FINE),
        is_sum=True,
    ),
]

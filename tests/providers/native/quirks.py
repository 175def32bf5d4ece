"""Answers in Anthropic's and Google's wire formats, with the outcome. docs/provider-quirks.md describes each."""

from __future__ import annotations

import json
from typing import Any

from tests.fake_answers import event
from tests.providers.native import anthropic_wire as a
from tests.providers.native import google_wire as g
from tests.providers.quirks import Quirk, nested

IMAGE = {"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thoughtSignature": "c2ln"}
FILE = {"fileData": {"mimeType": "audio/wav", "fileUri": "https://example.com/a"}}
TIME = (("get_time", "{}"),)


def anthropic(*events: dict[str, Any] | bytes) -> bytes:
    return b"".join(one if isinstance(one, bytes) else a.named(one) for one in [a.start(), *events])


def google(*events: dict[str, Any] | bytes) -> bytes:
    return b"".join(one if isinstance(one, bytes) else event(one) for one in events)


def whole(content: list[dict[str, Any]], reason: str) -> bytes:
    body = {"type": "message", "content": content, "stop_reason": reason, "model": "m", "usage": a.USAGE}
    return json.dumps(body).encode()


def half(text: str) -> bytes:
    """Return a delta with this text as JSON has it."""
    delta = f'{{"type":"text_delta","text":"{text}"}}'
    return f'data: {{"type":"content_block_delta","index":0,"delta":{delta}}}\n\n'.encode()


ANTHROPIC = (
    Quirk("Text in pieces", anthropic(*a.text(0, "Hal", "lo"), *a.end()), "Hallo"),
    Quirk("Text in the beginning of a block", anthropic(*a.block(0, {"type": "text", "text": "Hi"}), *a.end()), "Hi"),
    Quirk("Several blocks of text", anthropic(*a.text(0, "One. "), *a.text(1, "Two."), *a.end()), "One. Two."),
    Quirk("Thinking", anthropic(*a.thinking(0, "Hm."), *a.text(1, "Hi"), *a.end()), "Hi", "Hm."),
    Quirk("Thinking that is hidden", anthropic(*a.thinking(0, ""), *a.text(1, "Hi"), *a.end()), "Hi"),
    Quirk(
        "Redacted thinking",
        anthropic(*a.block(0, {"type": "redacted_thinking", "data": "x"}), *a.text(1, "Hi"), *a.end()),
        "Hi",
    ),
    Quirk(
        "`<think>` in the text",
        anthropic(*a.text(0, "<thi", "nk>Hm.</think>", "Hi"), *a.end()),
        "Hi",
        "Hm.",
    ),
    Quirk(
        "Arguments in pieces",
        anthropic(*a.call(0, "get_time", '{"ci', 'ty":"Ro', 'me"}'), *a.end("tool_use")),
        calls=(("get_time", '{"city":"Rome"}'),),
        finish="tool_calls",
    ),
    Quirk("No arguments", anthropic(*a.call(0, "get_time", ""), *a.end("tool_use")), calls=TIME, finish="tool_calls"),
    Quirk(
        "Arguments in the beginning of a block",
        anthropic(*a.call(0, "get_time", input={"city": "Rome"}), *a.end("tool_use")),
        calls=(("get_time", '{"city":"Rome"}'),),
        finish="tool_calls",
    ),
    Quirk(
        "Arguments as a value, with a number beyond a double",
        anthropic(
            b'data: {"type":"content_block_start","index":0,"content_block":'
            b'{"type":"tool_use","id":"t","name":"get_time","input":{"a":1e400}}}\n\n',
            *a.end("tool_use"),
        ),
        calls=(("get_time", '{"a":Infinity}'),),
        finish="tool_calls",
    ),
    Quirk(
        "Arguments that are not JSON",
        anthropic(*a.call(0, "get_time", '{"a": '), *a.end("tool_use")),
        calls=(("get_time", '{"a": '),),
        finish="tool_calls",
    ),
    Quirk(
        "Parallel calls",
        anthropic(
            *a.text(0, "I look."),
            *a.call(1, "get_time", "{}"),
            *a.call(2, "get", "{}", call_id="toolu_02"),
            *a.end("tool_use"),
        ),
        "I look.",
        calls=(*TIME, ("get", "{}")),
        finish="tool_calls",
    ),
    Quirk(
        "Interleaved blocks",
        anthropic(
            a.call(0, "get_time")[0],
            a.call(1, "get", call_id="toolu_02")[0],
            a.call(0, "get_time", '{"a":1}')[1],
            a.call(1, "get", '{"b":2}')[1],
            a.call(0, "get_time")[-1],
            a.call(1, "get")[-1],
            *a.end("tool_use"),
        ),
        calls=(("get_time", '{"a":1}'), ("get", '{"b":2}')),
        finish="tool_calls",
    ),
    Quirk(
        "Two calls with one id",
        anthropic(*a.call(0, "get_time", "{}"), *a.call(1, "get", "{}"), *a.end("tool_use")),
        calls=(*TIME, ("get", "{}")),
        finish="tool_calls",
    ),
    Quirk(
        "A call without an id",
        anthropic(*a.call(0, "get_time", "{}", call_id=""), *a.end("tool_use")),
        calls=TIME,
        finish="tool_calls",
    ),
    Quirk("A call without a name", anthropic(*a.call(0, "", "{}"), *a.end("tool_use")), error="without a name"),
    Quirk(
        "A piece of a call that was not begun",
        anthropic(a.call(0, "get_time", "{}")[1], *a.end("tool_use")),
        error="belongs to nothing",
    ),
    Quirk(
        "Calls that end with `end_turn`",
        anthropic(*a.call(0, "get_time", "{}"), *a.end()),
        calls=TIME,
        finish="tool_calls",
    ),
    Quirk("`tool_use` without a call", anthropic(*a.text(0, "Hi"), *a.end("tool_use")), error="announced a tool call"),
    Quirk("`max_tokens`", anthropic(*a.text(0, "Half"), *a.end("max_tokens")), "Half", finish="length"),
    Quirk(
        "`max_tokens` before the first word",
        anthropic(*a.thinking(0, "Hm."), *a.end("max_tokens")),
        error="limit of length",
    ),
    Quirk(
        "`max_tokens` in a call",
        anthropic(*a.call(0, "get_time", '{"a'), *a.end("max_tokens")),
        error="middle of a tool call",
    ),
    Quirk(
        "`model_context_window_exceeded`",
        anthropic(*a.text(0, "Half"), *a.end("model_context_window_exceeded")),
        "Half",
        finish="length",
    ),
    Quirk("`stop_sequence`", anthropic(*a.text(0, "Hi"), *a.end("stop_sequence")), "Hi"),
    Quirk("`refusal` after text", anthropic(*a.text(0, "No."), *a.end("refusal")), "No.", finish="refusal"),
    Quirk("`refusal` without text", anthropic(*a.end("refusal")), error="declined to answer"),
    Quirk(
        "`refusal` after a call",
        anthropic(*a.call(0, "get_time", "{}"), *a.end("refusal")),
        error="refused to continue",
    ),
    Quirk("`pause_turn`", anthropic(*a.text(0, "I search."), *a.end("pause_turn")), error="paused the answer"),
    Quirk("An unknown reason", anthropic(*a.text(0, "Hi"), *a.end("tired")), error="broke off"),
    Quirk("No reason", anthropic(*a.text(0, "Half")), error="broke off"),
    Quirk("No `message_stop`", anthropic(*a.text(0, "Hi"), a.end()[0]), "Hi"),
    Quirk("An empty answer", anthropic(*a.end()), error="empty answer"),
    Quirk("An answer of white space", anthropic(*a.text(0, " \n"), *a.end()), error="empty answer"),
    Quirk("Thinking and no answer", anthropic(*a.thinking(0, "Hm."), *a.end()), error="empty answer"),
    Quirk("Pings and unknown events", anthropic({"type": "ping"}, {"type": "news"}, *a.text(0, "Hi"), *a.end()), "Hi"),
    Quirk(
        "Unknown blocks and deltas",
        anthropic(
            *a.block(0, {"type": "container_upload", "file_id": "f"}, {"type": "new_delta", "x": 1}),
            *a.block(
                1, {"type": "text", "text": ""}, {"type": "citations_delta"}, {"type": "text_delta", "text": "Hi"}
            ),
            *a.end(),
        ),
        "Hi",
    ),
    Quirk(
        "A null message and null counts",
        anthropic({"type": "message_start", "message": None}, *a.text(0, "Hi"), *a.end(output_tokens=None)),
        "Hi",
    ),
    Quirk(
        "Two reasons, the first null",
        anthropic(*a.text(0, "Hi"), {"type": "message_delta", "delta": {"stop_reason": None}, "usage": None}, *a.end()),
        "Hi",
    ),
    Quirk("`[DONE]` after the end", anthropic(*a.text(0, "Hi"), *a.end(), b"data: [DONE]\n\n"), "Hi"),
    Quirk("Blocks without an end", anthropic(*a.text(0, "Hi")[:-1], *a.end()), "Hi"),
    Quirk(
        "Blocks without an index",
        anthropic(
            *({name: value for name, value in one.items() if name != "index"} for one in a.text(0, "Hi")), *a.end()
        ),
        "Hi",
    ),
    Quirk(
        "Thinking without a signature", anthropic(*a.thinking(0, "Hm.", ""), *a.text(1, "Hi"), *a.end()), "Hi", "Hm."
    ),
    Quirk(
        "Text with citations",
        anthropic(
            *a.block(
                0,
                {"type": "text", "text": "", "citations": None},
                {"type": "text_delta", "text": "Hi"},
                {"type": "citations_delta", "citation": {"cited_text": "x"}},
            ),
            *a.end(),
        ),
        "Hi",
    ),
    Quirk(
        "A search of the server",
        anthropic(
            *a.block(
                0,
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                {"type": "input_json_delta", "partial_json": "{}"},
            ),
            *a.block(1, {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
            *a.text(2, "Hi"),
            *a.end(),
        ),
        "Hi",
    ),
    Quirk("Comments between events", b": keep-alive\n\n" + anthropic(*a.text(0, "Hi"), b": ping\n\n", *a.end()), "Hi"),
    Quirk("An error as text", anthropic({"type": "error", "error": "overloaded"}), error="failed"),
    Quirk("An error as text, with a status", b'{"error": "Unauthorized", "status": 401}', error="refused the key"),
    Quirk("An error with a number", anthropic({"type": "error", "error": {"code": 401}}), error="refused the key"),
    Quirk(
        "A whole error with status 200",
        json.dumps({"type": "error", "error": {"type": "api_error", "message": "x"}}).encode(),
        error="failed",
    ),
    Quirk(
        "Arguments as an object, whole",
        anthropic(*a.call(0, "get_time", input={"city": "Rome"}), *a.end("tool_use")),
        calls=(("get_time", '{"city":"Rome"}'),),
        finish="tool_calls",
    ),
    Quirk(
        "An empty object and then pieces",
        anthropic(*a.call(0, "get_time", "", '{"city":"Rome"}', input={}), *a.end("tool_use")),
        calls=(("get_time", '{"city":"Rome"}'),),
        finish="tool_calls",
    ),
    Quirk("Events without names", b"".join(event(one) for one in [a.start(), *a.text(0, "Hi"), *a.end()]), "Hi"),
    Quirk("Lines that end with CR LF", anthropic(*a.text(0, "Hi"), *a.end()).replace(b"\n", b"\r\n"), "Hi"),
    Quirk("Half a character", anthropic(half(r"\ud83d"), half(r"\ude00"), *a.end()), "\U0001f600"),
    Quirk("`overloaded_error` in the stream", anthropic(a.error_event(529, "Overloaded")), error="overloaded"),
    Quirk(
        "`rate_limit_error` in the stream",
        anthropic(*a.text(0, "Half"), a.error_event(429, "slow down")),
        error="too many requests",
        code="provider_rate_limited",
    ),
    Quirk("`api_error` in the stream", anthropic(a.error_event(500, "Internal")), error="provider failed"),
    Quirk("An error after the reason", anthropic(*a.text(0, "Hi"), a.end()[0], a.error_event(500, "Internal")), "Hi"),
    Quirk(
        "An error after an unknown reason",
        anthropic(*a.text(0, "Hi"), a.end("tired")[0], a.error_event(500, "Internal")),
        error="provider failed",
    ),
    Quirk(
        "A prompt that is too long, in the stream",
        anthropic(a.error_event(400, "prompt is too long: 9 tokens > 8 maximum")),
        error="too long",
    ),
    Quirk("An event that is not JSON", anthropic(b"data: {oops}\n\n"), error="cannot be read"),
    Quirk("An event that is nested too deeply", anthropic({"type": "news", "x": nested(200)}), error="cannot be read"),
    Quirk("A whole message", whole([{"type": "text", "text": "Hi"}], "end_turn"), "Hi"),
    Quirk(
        "A whole message with a call",
        whole([{"type": "tool_use", "id": "t", "name": "get_time", "input": {}}], "tool_use"),
        calls=TIME,
        finish="tool_calls",
    ),
)

GOOGLE = (
    Quirk("A finish reason in every chunk", google(*(g.chunk({"text": one}, finish="STOP") for one in "Hi")), "Hi"),
    Quirk(
        "A role and an index that are null",
        google(
            {
                "candidates": [
                    {"content": {"role": None, "parts": [{"text": "Hi"}]}, "finishReason": "STOP", "index": None}
                ]
            }
        ),
        "Hi",
    ),
    Quirk(
        "Ratings and sources beside the text",
        google(
            {
                "candidates": [
                    {
                        "content": {"parts": [{"text": "Hi"}]},
                        "finishReason": "STOP",
                        "safetyRatings": [],
                        "groundingMetadata": {"groundingChunks": []},
                        "avgLogprobs": -0.1,
                    }
                ]
            }
        ),
        "Hi",
    ),
    Quirk(
        "`STOP` with a call",
        google(g.chunk({"functionCall": {"name": "get_time", "args": None}}, finish="STOP")),
        calls=TIME,
        finish="tool_calls",
    ),
    Quirk(
        "Code that the model ran",
        google(
            g.chunk(
                {"executableCode": {"code": "1"}},
                {"codeExecutionResult": {"output": "1"}},
                {"text": "Hi"},
                finish="STOP",
            )
        ),
        "Hi",
    ),
    Quirk(
        "Null parts",
        google({"candidates": [{"content": {"parts": None}}]}, g.chunk({"text": "Hi"}, finish="STOP")),
        "Hi",
    ),
    Quirk(
        "A candidate without content before the text",
        google({"candidates": [{}]}, g.chunk({"text": "Hi"}, finish="STOP")),
        "Hi",
    ),
    Quirk(
        "An error beside candidates",
        google({"candidates": [], "error": {"code": 500, "message": "x", "status": "INTERNAL"}}),
        error="failed",
    ),
    Quirk("Text in pieces", google(g.chunk({"text": "Hal"}), g.end("STOP", {"text": "lo"})), "Hallo"),
    Quirk("Several parts of text", google(g.end("STOP", {"text": "One. "}, {"text": "Two."})), "One. Two."),
    Quirk("Thoughts", google(g.chunk({"text": "Hm.", "thought": True}), g.end("STOP", {"text": "Hi"})), "Hi", "Hm."),
    Quirk(
        "A signature in a part of its own",
        google(g.chunk({"text": "Hi"}), g.end("STOP", {"text": "", "thoughtSignature": "c2ln"})),
        "Hi",
    ),
    Quirk(
        "A call",
        google(g.end("STOP", g.call("get_time", {"city": "Rome"}, thoughtSignature=g.SIGNATURE))),
        calls=(("get_time", '{"city":"Rome"}'),),
        finish="tool_calls",
    ),
    Quirk(
        "Parallel calls",
        google(g.chunk(g.call("get_time"), g.call("get", {"a": 1})), g.end()),
        calls=(*TIME, ("get", '{"a":1}')),
        finish="tool_calls",
    ),
    Quirk(
        "Calls in several chunks",
        google(g.chunk({"text": "I look."}), g.chunk(g.call("get_time")), g.chunk(g.call("get")), g.end()),
        "I look.",
        calls=(*TIME, ("get", "{}")),
        finish="tool_calls",
    ),
    Quirk(
        "No arguments",
        google(g.end("STOP", {"functionCall": {"name": "get_time"}})),
        calls=TIME,
        finish="tool_calls",
    ),
    Quirk(
        "Two calls with one id",
        google(g.end("STOP", g.call("get_time", id="1"), g.call("get", id="1"))),
        calls=(*TIME, ("get", "{}")),
        finish="tool_calls",
    ),
    Quirk(
        "Arguments with a number beyond a double",
        google(
            b'data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"get_time","args":{"a":1e400}}}]},'
            b'"finishReason":"STOP"}]}\n\n'
        ),
        calls=(("get_time", '{"a":Infinity}'),),
        finish="tool_calls",
    ),
    Quirk(
        "Arguments that are no object",
        google(g.end("STOP", g.call("get_time", [1, 2]))),
        calls=(("get_time", "[1,2]"),),
        finish="tool_calls",
    ),
    Quirk("A call without a name", google(g.end("STOP", g.call(""))), error="without a name"),
    Quirk("`MAX_TOKENS`", google(g.end("MAX_TOKENS", {"text": "Half"})), "Half", finish="length"),
    Quirk("`MAX_TOKENS` before the first word", google(g.end("MAX_TOKENS")), error="limit of length"),
    Quirk("`MAX_TOKENS` after a call", google(g.end("MAX_TOKENS", g.call("get_time"))), error="middle of a tool call"),
    Quirk("`SAFETY` after text", google(g.end("SAFETY", {"text": "Half"})), "Half", finish="content_filter"),
    Quirk("`SAFETY` without text", google(g.end("SAFETY")), error="filter blocked the answer"),
    Quirk("`PROHIBITED_CONTENT`", google(g.end("PROHIBITED_CONTENT")), error="filter blocked the answer"),
    Quirk("`RECITATION`", google(g.end("RECITATION")), error="filter blocked the answer"),
    Quirk(
        "A blocked question", google({"promptFeedback": {"blockReason": "SAFETY"}}), error="filter blocked the question"
    ),
    Quirk("`MALFORMED_FUNCTION_CALL`", google(g.end("MALFORMED_FUNCTION_CALL")), error="did not accept"),
    Quirk("`UNEXPECTED_TOOL_CALL`", google(g.end("UNEXPECTED_TOOL_CALL")), error="did not accept"),
    Quirk("`OTHER`", google(g.end("OTHER", {"text": "Hi"})), error="broke off"),
    Quirk("An unknown reason", google(g.end("TIRED", {"text": "Hi"})), error="broke off"),
    Quirk("No reason", google(g.chunk({"text": "Half"})), error="broke off"),
    Quirk(
        "`FINISH_REASON_UNSPECIFIED` before the end",
        google(g.chunk({"text": "H"}, finish="FINISH_REASON_UNSPECIFIED"), g.end("STOP", {"text": "i"})),
        "Hi",
    ),
    Quirk("Counts after the end", google(g.chunk({"text": "Hi"}, finish="STOP"), {"usageMetadata": g.USAGE}), "Hi"),
    Quirk("An empty answer", google(g.end()), error="empty answer"),
    Quirk("No candidates", google({"usageMetadata": g.USAGE}), error="broke off"),
    Quirk("Content without parts", google(g.end(content={"role": "model"})), error="empty answer"),
    Quirk("An answer of white space", google(g.end("STOP", {"text": " \n"})), error="empty answer"),
    Quirk("Thoughts and no answer", google(g.end("STOP", {"text": "Hm.", "thought": True})), error="empty answer"),
    Quirk("An image alone", google(g.chunk(IMAGE), g.end()), error="an image or sound alone"),
    Quirk("A file alone", google(g.end("STOP", FILE)), error="an image or sound alone"),
    Quirk("An image beside the text", google(g.chunk({"text": "Here: "}, IMAGE), g.end()), "Here: "),
    Quirk(
        "Another candidate",
        google({"candidates": [{"index": 1, "content": {"parts": [{"text": "x"}]}}]}, g.end("STOP", {"text": "Hi"})),
        "Hi",
    ),
    Quirk(
        "Unknown parts and fields",
        google(g.chunk({"executableCode": {"code": "1"}}), {**g.end("STOP", {"text": "Hi"}), "news": [1]}),
        "Hi",
    ),
    Quirk("Lines that end with CR LF", google(g.end("STOP", {"text": "Hi"})).replace(b"\n", b"\r\n"), "Hi"),
    Quirk(
        "`UNAVAILABLE` in the stream", google(g.error_event(503, "The model is overloaded.")), error="provider failed"
    ),
    Quirk(
        "`RESOURCE_EXHAUSTED` in the stream",
        google(g.chunk({"text": "Half"}), g.error_event(429, "Quota")),
        error="too many requests",
        code="provider_rate_limited",
    ),
    Quirk(
        "`DEADLINE_EXCEEDED` in the stream",
        google(g.error_event(504, "Deadline")),
        error="too long to answer",
        code="provider_timeout",
    ),
    Quirk("An event that is not JSON", google(b"data: {oops}\n\n"), error="cannot be read"),
    Quirk("An event that is nested too deeply", google({"news": nested(200)}), error="cannot be read"),
    Quirk("A whole answer", json.dumps(g.end("STOP", {"text": "Hi"})).encode(), "Hi"),
)

"""Responses that providers have sent, as bytes, with the expected outcome. docs/provider-quirks.md describes each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from assistant.toolkit.bounded_json import MAX_DEPTH
from tests.fake_answers import chunk, event

# More digits than Python's parser of JSON takes.
LONG = "9" * 5_000
TOOLS = ("get_customer", "get_time", "get_weather", "get", "_time", "getget")


@dataclass(frozen=True)
class Quirk:
    """A response body, and the expected reply or a part of the expected error's message."""

    name: str
    body: bytes
    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"
    error: str = ""
    code: str = "provider_error"


def sse(*payloads: Any, done: bool = True) -> bytes:
    """A stream with one event for each payload; bytes go in as they are."""
    body = b"".join(payload if isinstance(payload, bytes) else event(payload) for payload in payloads)
    return body + (b"data: [DONE]\n\n" if done else b"")


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}


def say(content: Any, **more: Any) -> dict[str, Any]:
    return chunk({"content": content}, **more)


def nested(levels: int) -> Any:
    """Lists within each other."""
    return json.loads("[" * levels + "]" * levels)


def deep(levels: int) -> bytes:
    """Return an event with a field of this many levels."""
    return b'data: {"x": ' + b"[" * levels + b"]" * levels + b"}\n\n"


def end(reason: str | None = "stop") -> dict[str, Any]:
    return chunk(finish=reason)


def closing(reason: str = "stop", **message: Any) -> dict[str, Any]:
    """The end of a stream, with the whole message."""
    return chunk(choices=[{"message": message, "finish_reason": reason}])


def calls(*pieces: dict[str, Any], **more: Any) -> dict[str, Any]:
    return chunk({"tool_calls": list(pieces)}, **more)


def piece(arguments: Any = None, *, name: str | None = None, **more: Any) -> dict[str, Any]:
    """More of a call, at index 0 unless `index` says otherwise (None leaves it out)."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {key: value for key, value in {"index": 0, **more, "function": function}.items() if value is not None}


def escaped(text: str) -> bytes:
    """An event whose content holds `text` as it stands, escapes of JSON included."""
    return b'data: {"choices":[{"delta":{"content":"' + text.encode("utf-8", "surrogateescape") + b'"}}]}\n\n'


def arguments(text: str) -> bytes:
    """The same for the arguments of the call at index 0."""
    head = b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"'
    return head + text.encode("utf-8", "surrogateescape") + b'"}}]}}]}\n\n'


ASK = ("get_customer", '{"customer_id": 42}')
ASK_MORE = ("get_customer", '{"customer_id": 43}')
WHOLE = piece(ASK[1], name=ASK[0], id="a")
FUNCTION = {"name": ASK[0], "arguments": ASK[1]}
OPENING = calls(piece(name=ASK[0], id="a"))
LETTERS = [calls(piece(letter)) for letter in ASK[1]]
LONG_TEXT = "".join(chr(0x4E00 + n) for n in range(12))

ARGUMENTS = [
    Quirk("Arguments in one piece", sse(calls(WHOLE), end("tool_calls")), calls=(ASK,), finish="tool_calls"),
    Quirk("Arguments letter by letter", sse(OPENING, *LETTERS, end("tool_calls")), calls=(ASK,), finish="tool_calls"),
    Quirk(
        "Arguments cut inside an escape",
        sse(OPENING, arguments(r"{\"a\": \"x\\"), arguments(r"ny \\u00"), arguments(r"e9\"}"), end("tool_calls")),
        calls=(("get_customer", r'{"a": "x\ny \u00e9"}'),),
        finish="tool_calls",
    ),
    Quirk(
        "Arguments cut inside a surrogate pair",
        sse(OPENING, arguments(r"{\"a\": \"\ud83d"), arguments(r"\udc80\"}"), end("tool_calls")),
        calls=(("get_customer", '{"a": "💀"}'),),
        finish="tool_calls",
    ),
    Quirk(
        "Arguments cut inside a character's bytes",
        sse(OPENING, arguments('{\\"a\\": \\"\udcf0\udc9f'), arguments('\udc92\udc80\\"}'), end("tool_calls")),
        calls=(("get_customer", '{"a": "💀"}'),),
        finish="tool_calls",
    ),
    Quirk(
        "A lone surrogate in arguments",
        sse(OPENING, arguments(r"{\"a\": \"\ud83d"), arguments(r"\"}"), end("tool_calls")),
        calls=(("get_customer", r'{"a": "\xd83d"}'),),
        finish="tool_calls",
    ),
    Quirk(
        "Empty arguments",
        sse(calls(piece("", name="get_time", id="a")), end("tool_calls")),
        calls=(("get_time", "{}"),),
        finish="tool_calls",
    ),
    Quirk(
        "Absent arguments",
        sse(calls(piece(name="get_time", id="a")), end("tool_calls")),
        calls=(("get_time", "{}"),),
        finish="tool_calls",
    ),
    Quirk(
        "Null arguments",
        sse(calls({"index": 0, "id": "a", "function": {"name": "get_time", "arguments": None}}), end("tool_calls")),
        calls=(("get_time", "{}"),),
        finish="tool_calls",
    ),
    Quirk(
        "Arguments as an object",
        sse(calls(piece({"city": "Zürich"}, name="get_weather", id="a")), end("tool_calls")),
        calls=(("get_weather", '{"city": "Zürich"}'),),
        finish="tool_calls",
    ),
    Quirk(
        "Name and arguments without function",
        sse(calls({"index": 0, "id": "a", "name": "get_time", "arguments": "{}"}), end("tool_calls")),
        calls=(("get_time", "{}"),),
        finish="tool_calls",
    ),
    Quirk(
        "A number of 5,000 digits",
        sse(calls(piece(f'{{"a": {LONG}}}', name="get_time", id="a")), end("tool_calls")),
        calls=(("get_time", f'{{"a": {LONG}}}'),),
        finish="tool_calls",
    ),
    Quirk(
        "A number beyond a double",
        sse(calls(piece('{"a": 1e400}', name="get_time", id="a")), end("tool_calls")),
        calls=(("get_time", '{"a": 1e400}'),),
        finish="tool_calls",
    ),
    Quirk(
        "Arguments that are not JSON",
        sse(calls(piece("{customer_id: 42", name="get_customer", id="a")), end("tool_calls")),
        calls=(("get_customer", "{customer_id: 42"),),
        finish="tool_calls",
    ),
]

IDENTITY = [
    Quirk(
        "Calls interleaved by index",
        sse(
            calls(piece(name="get_customer", id="a"), piece(name="get_time", id="b", index=1)),
            calls(piece('{"zone":', index=1)),
            calls(piece('{"customer_id":')),
            calls(piece(' "UTC"}', index=1)),
            calls(piece(" 42}")),
            end("tool_calls"),
        ),
        calls=(ASK, ("get_time", '{"zone": "UTC"}')),
        finish="tool_calls",
    ),
    Quirk(
        "The id in every piece",
        sse(
            *(
                calls(piece(part, name=name, id="a"))
                for part, name in (("", "get_customer"), ('{"customer_id"', None), (": 42}", None))
            ),
            end("tool_calls"),
        ),
        calls=(ASK,),
        finish="tool_calls",
    ),
    Quirk("Never an id", sse(calls(piece(ASK[1], name=ASK[0])), end("tool_calls")), calls=(ASK,), finish="tool_calls"),
    Quirk(
        "Empty id", sse(calls(piece(ASK[1], name=ASK[0], id="")), end("tool_calls")), calls=(ASK,), finish="tool_calls"
    ),
    Quirk(
        "A new id in every piece",
        sse(
            calls(piece("", name="get_customer", id="a")),
            calls(piece('{"customer_id"', id="b")),
            calls(piece(": 42}", id="c")),
            end("tool_calls"),
        ),
        calls=(ASK,),
        finish="tool_calls",
    ),
    Quirk(
        "Two calls with one id",
        sse(calls(WHOLE), calls(piece("{}", name="get_time", id="a", index=1)), end("tool_calls")),
        calls=(ASK, ("get_time", "{}")),
        finish="tool_calls",
    ),
    Quirk(
        "The id after the name",
        sse(calls(piece(name="get_customer")), calls(piece(ASK[1], id="a")), end("tool_calls")),
        calls=(ASK,),
        finish="tool_calls",
    ),
    Quirk(
        "A name in pieces",
        sse(
            calls(piece(name="get_", id="a")),
            calls(piece(name="custo")),
            calls(piece(ASK[1], name="mer")),
            end("tool_calls"),
        ),
        calls=(ASK,),
        finish="tool_calls",
    ),
    Quirk(
        "The name in every piece",
        sse(
            calls(piece("", name="get_customer", id="a")),
            calls(piece('{"customer_id"', name="get_customer")),
            calls(piece(": 42}", name="get_customer")),
            end("tool_calls"),
        ),
        calls=(ASK,),
        finish="tool_calls",
    ),
    Quirk(
        "Another name in mid-arguments",
        sse(OPENING, calls(piece('{"customer_id"')), calls(piece(": 42}", name="get_time")), end("tool_calls")),
        error="mixed up",
    ),
    Quirk("A call without a name", sse(calls(piece("{}", id="a")), end("tool_calls")), error="without naming it"),
    Quirk(
        "No index, new ids",
        sse(
            calls(piece(ASK[1], name=ASK[0], id="a", index=None)),
            calls(piece("{}", name="get_time", id="b", index=None)),
            end("tool_calls"),
        ),
        calls=(ASK, ("get_time", "{}")),
        finish="tool_calls",
    ),
    Quirk(
        "No index, pieces of the last call",
        sse(
            calls(piece("", name=ASK[0], id="a", index=None)),
            *(calls(piece(letter, index=None)) for letter in ASK[1]),
            end("tool_calls"),
        ),
        calls=(ASK,),
        finish="tool_calls",
    ),
    Quirk(
        "No index, no id, whole calls",
        sse(
            calls(piece(ASK[1], name=ASK[0], index=None), piece({"zone": "UTC"}, name="get_time", index=None)),
            end("tool_calls"),
        ),
        calls=(ASK, ("get_time", '{"zone": "UTC"}')),
        finish="tool_calls",
    ),
    Quirk(
        "No index, no id, names only",
        sse(calls(piece(name="get_customer", index=None), piece(name="get_time", index=None)), end("tool_calls")),
        calls=(("get_customer", "{}"), ("get_time", "{}")),
        finish="tool_calls",
    ),
    Quirk(
        "No index, no id, one name twice in a list",
        sse(calls(piece(name="get_time", index=None), piece(name="get_time", index=None)), end("tool_calls")),
        calls=(("get_time", "{}"), ("get_time", "{}")),
        finish="tool_calls",
    ),
    Quirk(
        "No index, no id, one name twice",
        sse(calls(piece(name="get_time", index=None)), calls(piece(name="get_time", index=None)), end("tool_calls")),
        error="mixed up",
    ),
    Quirk(
        "No index, no id, a name after its call",
        sse(calls(piece(ASK[1], name=ASK[0], index=None)), calls(piece(name=ASK[0], index=None)), end("tool_calls")),
        error="mixed up",
    ),
    Quirk(
        "One index for calls with ids",
        sse(calls(WHOLE), calls(piece("{}", name="get_time", id="b")), end("tool_calls")),
        calls=(ASK, ("get_time", "{}")),
        finish="tool_calls",
    ),
    Quirk(
        "One index for whole calls",
        sse(calls(piece(ASK[1], name=ASK[0])), calls(piece(ASK_MORE[1], name=ASK[0])), end("tool_calls")),
        calls=(ASK, ASK_MORE),
        finish="tool_calls",
    ),
    Quirk(
        "One index for the same whole call",
        sse(calls(piece(ASK[1], name=ASK[0])), calls(piece('{"customer_id":42}', name=ASK[0])), end("tool_calls")),
        error="mixed up",
    ),
    Quirk(
        "One index, arguments that grow",
        sse(calls(piece("{}", name=ASK[0])), calls(piece(ASK[1], name=ASK[0])), end("tool_calls")),
        error="mixed up",
    ),
    Quirk(
        "One index, no id for the second call",
        sse(calls(WHOLE), calls(piece(ASK_MORE[1], name=ASK[0])), end("tool_calls")),
        error="mixed up",
    ),
    Quirk(
        "One index, an id only for the second call",
        sse(calls(piece(ASK[1], name=ASK[0])), calls(piece(ASK_MORE[1], name=ASK[0], id="b")), end("tool_calls")),
        error="mixed up",
    ),
    Quirk(
        "A name that grows into another tool's",
        sse(calls(piece(name="get", id="a")), calls(piece(ASK[1], name=ASK[0])), end("tool_calls")),
        error="mixed up",
    ),
    Quirk(
        "A name that grows, without ids",
        sse(calls(piece(name="get", index=None)), calls(piece(ASK[1], name=ASK[0], index=None)), end("tool_calls")),
        error="mixed up",
    ),
    Quirk(
        "Two names that make a third",
        sse(calls(piece(name="get")), calls(piece(name="_time")), end("tool_calls")),
        error="mixed up",
    ),
    Quirk(
        "A name twice that makes another",
        sse(calls(piece(name="get", id="a")), calls(piece(name="get")), end("tool_calls")),
        error="mixed up",
    ),
    Quirk(
        "The first call once more, without ids",
        sse(
            *(calls(piece("{}", name=name, index=None)) for name in ("get_customer", "get_time", "get_customer")),
            end("tool_calls"),
        ),
        error="mixed up",
    ),
    Quirk(
        "Legacy function_call",
        sse(
            chunk({"function_call": {"name": ASK[0], "arguments": ""}}),
            chunk({"function_call": {"arguments": ASK[1]}}),
            end("function_call"),
        ),
        calls=(ASK,),
        finish="tool_calls",
    ),
    Quirk(
        "function_call beside tool_calls",
        sse(chunk({"function_call": FUNCTION, "tool_calls": [WHOLE]}), end("tool_calls")),
        calls=(ASK,),
        finish="tool_calls",
    ),
    Quirk(
        "function_call before tool_calls",
        sse(
            chunk({"function_call": {"name": ASK[0]}}),
            chunk({"function_call": {"arguments": '{"customer_id":42}'}}),
            calls(WHOLE, piece("{}", name="get_time", id="b", index=1)),
            end("tool_calls"),
        ),
        calls=(ASK, ("get_time", "{}")),
        finish="tool_calls",
    ),
    Quirk(
        "function_call after tool_calls",
        sse(calls(WHOLE), chunk({"function_call": FUNCTION}), end("function_call")),
        calls=(ASK,),
        finish="tool_calls",
    ),
    Quirk(
        "function_call other than tool_calls",
        sse(chunk({"function_call": {**FUNCTION, "name": "get_time"}, "tool_calls": [WHOLE]}), end("tool_calls")),
        error="mixed up",
    ),
    Quirk(
        "Null among the calls",
        sse(chunk({"tool_calls": [None, WHOLE]}), end("tool_calls")),
        calls=(ASK,),
        finish="tool_calls",
    ),
]

TEXT = [
    Quirk("Null deltas", sse(chunk(choices=[{"index": 0, "delta": None}]), say("Hi"), say(None), end()), text="Hi"),
    Quirk("Null choices", sse(chunk(choices=None), say("Hi"), chunk(choices=[None]), end()), text="Hi"),
    Quirk(
        "No choices, as with token counts",
        sse(say("Hi"), end(), chunk(choices=[], usage={"prompt_tokens": 3})),
        text="Hi",
    ),
    Quirk("Token counts in an unknown form", sse(say("Hi"), end(), chunk(choices=[], usage=["?"])), text="Hi"),
    Quirk(
        "Token counts that are not numbers",
        sse(say("Hi"), end(), chunk(choices=[], usage={"prompt_tokens": float("nan"), "completion_tokens": 1e300})),
        text="Hi",
    ),
    Quirk("Other choices", sse(say("Hi"), chunk(choices=[{"index": 1, "delta": {"content": "Ho"}}]), end()), text="Hi"),
    Quirk(
        "Content as parts", sse(say([{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]), end()), text="Hi"
    ),
    Quirk(
        "Thinking among the parts",
        sse(say([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]), say("Hi"), end()),
        text="Hi",
        reasoning="Hm",
    ),
    Quirk("Parts of an unknown kind", sse(say([{"type": "image", "url": "x"}]), end()), error="cannot be read here"),
    Quirk(
        "References among the parts",
        sse(say([{"type": "text", "text": "Hi"}, {"type": "reference", "reference_ids": [1]}]), end()),
        text="Hi",
    ),
    Quirk("reasoning_content", sse(chunk({"reasoning_content": "Hm"}), say("Hi"), end()), text="Hi", reasoning="Hm"),
    Quirk(
        "Reasoning, twice in one chunk",
        sse(chunk({"reasoning": "Hm", "reasoning_content": "Hm"}), say("Hi"), end()),
        text="Hi",
        reasoning="Hm",
    ),
    Quirk("Thinking between tags", sse(say("<think>Hm</think>\n\nHi"), end()), text="Hi", reasoning="Hm"),
    Quirk(
        "Thinking between tags that are cut",
        sse(*map(say, ("<th", "ink", ">H", "m</", "think>", "\n", "H", "i")), end()),
        text="Hi",
        reasoning="Hm",
    ),
    Quirk("Thinking between tags, after text", sse(say("A <think>Hm</think> Hi"), end()), text="A Hi", reasoning="Hm"),
    Quirk("Thinking tags in code", sse(say("Write `<think>`."), end()), text="Write `<think>`."),
    Quirk(
        "Thinking tags that only the text has",
        sse(say("The tag <think> is old."), end()),
        text="The tag <think> is old.",
    ),
    Quirk("Thinking between tags and no answer", sse(say("<think>Hm</think>"), end()), error="empty answer"),
    Quirk(
        "A closing message with thinking tags",
        sse(say("<think>Hm</think>Hi"), closing(content="<think>Hm</think>Hi")),
        text="Hi",
        reasoning="Hm",
    ),
    Quirk("Reasoning that is not text", sse(chunk({"reasoning": {"steps": 3}}), say("Hi"), end()), text="Hi"),
    Quirk("Text cut inside a surrogate pair", sse(escaped(r"\ud83d"), escaped(r"\udc80!"), end()), text="💀!"),
    Quirk("Text cut inside a character's bytes", sse(escaped("a\udce2\udc82"), escaped("\udcac"), end()), text="a€"),
    Quirk(
        "A lone surrogate in text",
        sse(escaped(r"a\ud83d"), escaped("b"), escaped(r"\udc80c\ud83d"), end()),
        text="a\ufffdb\ufffdc\ufffd",
    ),
    Quirk("NUL in text", sse(escaped(r"a\u0000"), escaped(r"\u0000b€"), end()), text="a\ufffd\ufffdb€"),
    Quirk("Non-ASCII text", sse(*map(say, LONG_TEXT), end()), text=LONG_TEXT),
    Quirk(
        "NaN beside the text",
        sse(b'data: {"choices":[{"delta":{"content":"Hi"},"logprobs":NaN}]}\n\n', end()),
        text="Hi",
    ),
    Quirk(
        "Refusal",
        sse(chunk({"refusal": "I will "}), chunk({"refusal": "not."}), end()),
        text="I will not.",
        finish="refusal",
    ),
    Quirk(
        "message instead of delta",
        sse(chunk(choices=[{"message": {"content": "Hi"}, "finish_reason": "stop"}])),
        text="Hi",
    ),
    Quirk(
        "Pieces called message", sse(*(chunk(choices=[{"message": {"content": x}}]) for x in "Hi"), end()), text="Hi"
    ),
    Quirk("A closing message", sse(say("H"), say("i"), closing(content="Hi")), text="Hi"),
    Quirk("A closing message with other white space", sse(say("Hi "), closing(content="Hi")), text="Hi "),
    Quirk("A closing message with more", sse(chunk({"role": "assistant"}), closing(content="Hi")), text="Hi"),
    Quirk("A closing message with another text", sse(say("Hi"), closing(content="Ho")), error="another text"),
    Quirk(
        "A closing message with the calls",
        sse(calls(WHOLE), closing("tool_calls", tool_calls=[piece(ASK[1], name=ASK[0], id="a", index=None)])),
        calls=(ASK,),
        finish="tool_calls",
    ),
    Quirk(
        "A closing message with all the calls",
        sse(say("Hi"), closing("tool_calls", content="Hi", tool_calls=[WHOLE], function_call=FUNCTION)),
        text="Hi",
        calls=(ASK,),
        finish="tool_calls",
    ),
    Quirk(
        "A closing message with another call",
        sse(calls(WHOLE), closing("tool_calls", tool_calls=[piece("{}", name="get_time", id="a")])),
        error="mixed up",
    ),
    Quirk(
        "A closing message with a refusal",
        sse(chunk({"role": "assistant"}), closing(refusal="I will not.")),
        text="I will not.",
        finish="refusal",
    ),
]

WIRE = [
    Quirk("Comments and keep-alives", sse(b": ping\n\n", b":\n", say("H"), b": ping\n\n", say("i"), end()), text="Hi"),
    Quirk("Other fields", sse(b"retry: 10\nid: 7\nevent: message\n", say("Hi"), b"event: ping\n\n", end()), text="Hi"),
    Quirk("CRLF line ends", sse(say("H"), say("i"), end()).replace(b"\n", b"\r\n"), text="Hi"),
    Quirk("CR line ends", sse(say("H"), say("i"), end()).replace(b"\n", b"\r"), text="Hi"),
    Quirk("Mixed line ends", sse(say("H"), done=False).replace(b"\n", b"\r\n") + sse(say("i"), end()), text="Hi"),
    Quirk("No space after the colon", sse(say("Hi"), end()).replace(b"data: ", b"data:"), text="Hi"),
    Quirk("No blank lines", sse(say("H"), say("i"), end()).replace(b"\n\n", b"\n"), text="Hi"),
    Quirk("No line end at the end", sse(say("Hi"), end()).rstrip(b"\n"), text="Hi"),
    Quirk(
        "One event on several lines",
        sse(b'data: {"choices":\ndata: [{"delta":{"content":"Hi"},\ndata: "finish_reason":"stop"}]}\n\n'),
        text="Hi",
    ),
    Quirk(
        "One event on several CRLF lines",
        b'data: {"choices":\r\ndata: [{"delta":{"content":"Hi"},\r\ndata: "finish_reason":"stop"}]}\r\n\r\n',
        text="Hi",
    ),
    Quirk("Byte order mark", b"\xef\xbb\xbf" + sse(say("Hi"), end()), text="Hi"),
    Quirk("Empty data", sse(b"data:\n\n", say("Hi"), b"data: \n\n", end()), text="Hi"),
    Quirk("More after [DONE]", sse(say("Hi"), end()) + sse(say("!!"), b"garbage", done=False), text="Hi"),
    Quirk(
        "Two documents on one line",
        sse(b'data: {"choices":[{"delta":{"content":"H"}}]} {"choices":[{"delta":{"content":"i"}}]}\n\n', end()),
        text="Hi",
    ),
    Quirk(
        "Two events on one line",
        sse(b'data: {"choices":[{"delta":{"content":"H"}}]}data: {"choices":[{"delta":{"content":"i"}}]}\n\n', end()),
        text="Hi",
    ),
    Quirk(
        "The end on the line of an event",
        sse(b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}data: [DONE]\n\n', done=False),
        text="Hi",
    ),
    Quirk("[done]", sse(say("Hi"), b"data: [done]\n\n", done=False), text="Hi"),
    Quirk(
        "Control characters in a text", sse(b'data: {"choices":[{"delta":{"content":"H\ti"}}]}\n\n', end()), text="H\ti"
    ),
    Quirk(
        "A complete reply without a stream",
        json.dumps(
            {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}}
        ).encode(),
        text="Hi",
    ),
    Quirk("Bad JSON", sse(say("Hi"), b"data: {nope}\n\n", end()), error="cannot be read"),
    Quirk("JSON of another shape", sse(say("Hi"), b'data: {"choices": "none"}\n\n', end()), error="cannot be read"),
    Quirk("JSON nested as deep as is accepted (100 levels)", sse(say("Hi", x=nested(MAX_DEPTH - 1)), end()), text="Hi"),
    *(
        Quirk(f"JSON nested {name}", sse(say("Hi"), deep(levels), end()), error="cannot be read")
        for name, levels in (("one level deeper", MAX_DEPTH), ("much deeper", 900))
    ),
    Quirk("JSON nested without end", sse(b"data: " + b"[" * 1500 + b"\n\n"), error="cannot be read"),
    Quirk("HTML labelled as a stream", b"<!doctype html>\n<html>\n<body>502</body>\n</html>\n", error="broke off"),
]

ENDS = [
    Quirk("No finish_reason, but [DONE]", sse(say("Hi")), text="Hi"),
    Quirk("No finish_reason, but [DONE], with calls", sse(calls(WHOLE)), calls=(ASK,), finish="tool_calls"),
    Quirk("finish_reason, but no [DONE]", sse(say("Hi"), end(), done=False), text="Hi"),
    Quirk("Neither finish_reason nor [DONE]", sse(say("Hi"), done=False), error="broke off"),
    Quirk("Neither, with a complete call", sse(calls(WHOLE), done=False), error="broke off"),
    Quirk("Cut in the middle of a line", sse(say("Hi"), done=False) + b'data: {"choices":[{"del', error="broke off"),
    Quirk("Nothing at all", b"", error="broke off"),
    Quirk("stop, with calls", sse(calls(WHOLE), end("stop")), calls=(ASK,), finish="tool_calls"),
    Quirk("tool_calls, without calls", sse(say("Let me see"), end("tool_calls")), error="sent none"),
    Quirk("Other names of a finish reason", sse(say("Hi"), end("MAX_TOKENS")), text="Hi", finish="length"),
    Quirk("Other names of a filter", sse(say("Hi"), end("BLOCKLIST")), text="Hi", finish="content_filter"),
    Quirk("An unknown finish reason", sse(say("Hi"), end("insufficient_system_resource")), error="broke off"),
    Quirk("length, in the text", sse(say("Hi"), end("length")), text="Hi", finish="length"),
    Quirk("length, before any text", sse(chunk({"reasoning": "Hm"}), end("length")), reasoning="Hm", finish="length"),
    Quirk(
        "length, in a call", sse(OPENING, calls(piece('{"customer_id": 4')), end("length")), error="middle of a tool"
    ),
    Quirk("length, after a call that looks complete", sse(calls(WHOLE), end("length")), error="middle of a tool"),
    Quirk("content_filter", sse(say("Well"), end("content_filter")), text="Well", finish="content_filter"),
    Quirk("content_filter, before any text", sse(end("content_filter")), finish="content_filter"),
    Quirk("content_filter, in a call", sse(OPENING, end("content_filter")), error="middle of a tool"),
    Quirk("length, then stop", sse(say("Hi"), end("length"), end()), text="Hi", finish="length"),
    Quirk("length, then tool_calls", sse(calls(WHOLE), end("length"), end("tool_calls")), error="middle of a tool"),
    Quirk(
        "content_filter, then stop",
        sse(say("Well"), end("content_filter"), end()),
        text="Well",
        finish="content_filter",
    ),
    Quirk("stop, then length", sse(say("Hi"), end(), end("length")), text="Hi", finish="length"),
    Quirk("Refusal, after a call", sse(calls(WHOLE), chunk({"refusal": "No."}), end()), error="refused to continue"),
    Quirk("Text after the finish_reason", sse(say("H"), end(), say("i")), text="Hi"),
    Quirk("An empty answer", sse(say(""), end()), error="empty answer"),
    Quirk("An answer of white space", sse(say(" \n"), end()), error="empty answer"),
    Quirk("Reasoning and no answer", sse(chunk({"reasoning": "Hm"}), end()), error="empty answer"),
    Quirk("An image alone", sse(say("", images=[]), chunk({"images": [IMAGE]}), end()), error="image or sound alone"),
    Quirk("Sound alone", sse(chunk({"audio": {"id": "a", "data": "aGk="}}), end()), error="image or sound alone"),
    Quirk("An image beside the text", sse(say("Hi"), chunk({"images": [IMAGE]}), end()), text="Hi"),
]

ERRORS = [
    Quirk("Error in the stream", sse(say("Hi"), {"error": {"message": "secret", "code": 500}}), error="failed"),
    Quirk(
        "Error in the stream: rate limit",
        sse({"error": {"message": "x", "code": "rate_limit_exceeded"}}),
        error="too many",
        code="provider_rate_limited",
    ),
    Quirk(
        "Error in the stream: status as text",
        sse({"error": {"message": "x", "code": "429"}}),
        error="too many",
        code="provider_rate_limited",
    ),
    Quirk(
        "Error in the stream: timeout", sse({"error": {"type": "timeout"}}), error="too long", code="provider_timeout"
    ),
    Quirk("Error in the stream: too long", sse({"error": {"code": "context_length_exceeded"}}), error="too long for"),
    Quirk("Error as text", sse({"error": "overloaded"}), error="failed"),
    Quirk("Error as text, with a status", sse({"error": "Unauthorized", "status": 401}), error="refused the key"),
    Quirk("An error without the field error", sse({"detail": "overloaded"}), error="failed"),
    Quirk("Error without the prefix", sse(say("Hi"), b'{"error": {"message": "x"}}\n\n', done=False), error="failed"),
    Quirk("Error as finish_reason", sse(say("Hi"), end("error")), error="broke off"),
    Quirk("Error after the finish_reason", sse(say("Hi"), end(), {"error": {"message": "x"}}), text="Hi"),
    Quirk("Error after the finish_reason error", sse(say("Hi"), end("error"), {"error": "x"}), error="failed"),
    Quirk(
        "Error after text that follows a finish_reason",
        sse(say("H"), end(), say("i"), {"error": {"message": "x"}}),
        error="failed",
    ),
]

QUIRKS = [*ARGUMENTS, *IDENTITY, *TEXT, *WIRE, *ENDS, *ERRORS]

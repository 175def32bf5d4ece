"""Answers with calls, as named servers and models send them. docs/provider-quirks.md lists them."""

from __future__ import annotations

import json

from tests.fake_answers import chunk, stream
from tests.providers.cases.case import CALL, FINE, SUM, USAGE, Case, called, choice, details, whole
from tests.providers.quirks import calls, end, piece, say

FILTER = {"hate": {"filtered": False, "severity": "safe"}}
ENCRYPTED = {
    "type": "reasoning.encrypted",
    "data": "gAAAsecret",
    "id": "rs_1",
    "format": "openai-responses-v1",
    "index": 0,
}
SIGNED = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}

CALLS = [
    called(
        "OpenAI: padding, `service_tier` and null fields in every chunk",
        chunk({"role": "assistant", "content": None, "refusal": None}, service_tier="priority", usage=None),
        calls(piece("", name="calculate", id="call_1", type="function"), obfuscation="x9f", usage=None),
        *(calls(piece(part), obfuscation="kQ", usage=None, system_fingerprint=None) for part in (SUM[:5], SUM[5:])),
        end("tool_calls"),
        chunk(choices=[], usage=USAGE),
        finish=None,
    ),
    called(
        "Azure: a first chunk that judges the prompt, without a model",
        {
            "choices": [],
            "created": 0,
            "id": "",
            "model": "",
            "object": "",
            "prompt_filter_results": [{"prompt_index": 0}],
        },
        choice(
            delta={"role": "assistant", "content": None, "tool_calls": [CALL]},
            content_filter_results={},
            finish_reason=None,
        ),
        choice(delta={}, content_filter_results=FILTER, finish_reason="tool_calls"),
        finish=None,
        kind="azure",
    ),
    called(
        "Gemini: no index, an empty id and `stop` with the call",
        choice(
            delta={
                "role": "assistant",
                "tool_calls": [
                    {
                        "extra_content": {"google": {"thought_signature": "c2lnbmF0dXJl"}},
                        "function": {"name": "calculate", "arguments": SUM},
                        "id": "",
                        "type": "function",
                    }
                ],
            },
            finish_reason="stop",
        ),
        finish=None,
        kind="gemini",
        model="gemini-3-pro-preview",
        returned=("c2lnbmF0dXJl",),
    ),
    Case(
        "Gemini: `function_call_filter: MALFORMED_FUNCTION_CALL`",
        (stream(end("function_call_filter: MALFORMED_FUNCTION_CALL")), FINE),
        kind="gemini",
        model="gemini-2.5-flash",
    ),
    Case(
        "A gateway before Gemini: `MALFORMED_FUNCTION_CALL`",
        (stream(end("MALFORMED_FUNCTION_CALL")), FINE),
        kind="gemini",
        model="gemini-2.5-flash",
    ),
    called(
        "Mistral: padding, the call in one piece, counts beside the finish reason",
        chunk({"role": "assistant", "content": ""}, p="abcdefgh"),
        choice(delta={"content": "", "tool_calls": [{**CALL, "id": "D681PevkX"}]}, finish_reason="tool_calls")
        | {"usage": USAGE},
        finish=None,
        kind="mistral",
        model="mistral-large-latest",
        returned=("D681PevkX",),
    ),
    called(
        "DeepSeek: keep-alive comments, null content beside reasoning",
        b": keep-alive\n\n",
        chunk({"role": "assistant", "content": None, "reasoning_content": ""}),
        chunk({"content": None, "reasoning_content": "Multiply."}),
        calls(CALL, content=None),
        kind="deepseek",
        model="deepseek-chat",
        returned=("Multiply.",),
    ),
    called(
        "Qwen: empty ids and names in later pieces",
        calls(piece("", name="calculate", id="call_1", type="function")),
        *(calls(piece(part, name="", id="", type="function")) for part in (SUM[:7], SUM[7:])),
        chunk({"content": ""}, usage=None),
        kind="qwen",
        model="qwen3-max",
    ),
    called(
        "Kimi: counts within the choice",
        chunk({"reasoning_content": "Multiply."}),
        calls({**CALL, "id": "functions.calculate:0"}),
        choice(delta={}, finish_reason="tool_calls", usage=USAGE),
        finish=None,
        kind="kimi",
        model="kimi-k2-thinking",
        returned=("Multiply.", "functions.calculate:0"),
    ),
    called(
        "GLM: white space before the call, reasoning that goes back",
        chunk({"role": "assistant", "reasoning_content": "Multiply."}),
        say("\n"),
        calls(CALL),
        model="glm-5",
        returned=("Multiply.",),
    ),
    called(
        "MiniMax: reasoning in the text and in its own field",
        *(
            chunk({"content": text, "reasoning_content": more})
            for text, more in (("<think>Mul", "Mul"), ("tiply</think>", "tiply"))
        ),
        calls(CALL),
        kind="openai",
        model="abab",
        returned=("Multiply",),
    ),
    called(
        "OpenRouter: comments, a summary in pieces and encrypted reasoning",
        b": OPENROUTER PROCESSING\n\n",
        *(
            details(
                {"type": "reasoning.summary", "summary": text, "format": "openai-responses-v1", "index": 0},
                reasoning=text,
                content="",
            )
            for text in ("**Multi", "plying**")
        ),
        details(ENCRYPTED, reasoning=None, content=""),
        calls(CALL, provider="OpenAI"),
        choice(delta={"content": ""}, finish_reason="tool_calls", native_finish_reason="completed"),
        finish=None,
        returned=('"summary":"**Multiplying**"', '"data":"gAAAsecret"'),
    ),
    called(
        "OpenRouter: signed reasoning of Claude",
        *(details({**SIGNED, "text": text}, reasoning=text) for text in ("Multi", "ply.")),
        details({**SIGNED, "signature": "c2lnbmF0dXJl"}),
        calls({**CALL, "id": "toolu_01"}),
        kind="anthropic-compatible",
        model="anthropic/claude-sonnet-4.5",
        returned=('"text":"Multiply."', '"signature":"c2lnbmF0dXJl"', "toolu_01"),
    ),
    called(
        "LiteLLM: `thinking_blocks`, and fields of the call for itself",
        chunk({"reasoning_content": "Multiply.", "thinking_blocks": [{"type": "thinking", "thinking": "Multiply."}]}),
        chunk({"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "c2lnbmF0dXJl"}]}),
        calls({**CALL, "provider_specific_fields": {"thought_signature": "dGhvdWdodA"}}),
        returned=('"thinking":"Multiply."', '"signature":"c2lnbmF0dXJl"', "dGhvdWdodA"),
    ),
    called(
        "LiteLLM with Bedrock: the call has index 1",
        calls(piece("", name="calculate", id="tooluse_1", index=1)),
        calls(piece(SUM, index=1)),
    ),
    called(
        "Gateways: the arguments have another index than the beginning of the call",
        calls(piece("", name="calculate", id="call_1")),
        *(calls(piece(part, index=1)) for part in (SUM[:4], SUM[4:])),
    ),
    called(
        "Gateways: an empty object before the arguments",
        calls(piece("{}", name="calculate", id="call_1")),
        *(calls(piece(part)) for part in (SUM[:4], SUM[4:])),
    ),
    called(
        "Ollama: index as it likes, arguments in one piece, `stop`",
        calls(CALL),
        finish="stop",
        kind="ollama",
        model="llama3.3",
    ),
    called(
        "TGI: one call instead of a list, arguments as an object, a number as id",
        chunk(
            {
                "role": "assistant",
                "tool_calls": {
                    "index": 0,
                    "id": 0,
                    "type": "function",
                    "function": {"name": "calculate", "arguments": {"expression": "6*7"}, "description": None},
                },
            }
        ),
        finish="eos_token",
    ),
    called(
        "SGLang: null ids and names in later pieces, `matched_stop`",
        calls(piece("", name="calculate", id="call_1")),
        chunk(
            {"tool_calls": [{"index": 0, "id": None, "type": "function", "function": {"name": None, "arguments": SUM}}]}
        ),
        choice(delta={"content": None}, finish_reason="tool_calls", matched_stop=None),
        finish=None,
    ),
    called(
        "vLLM: the name first, then arguments, and token ids",
        chunk({"role": "assistant", "content": ""}, prompt_token_ids=None),
        calls({"id": "chatcmpl-tool-1", "type": "function", "index": 0, "function": {"name": "calculate"}}),
        *(calls(piece(part)) for part in (SUM[:9], SUM[9:])),
        choice(delta={"content": ""}, finish_reason="tool_calls", stop_reason=None, token_ids=None),
        finish=None,
        kind="vllm",
        model="google/gemma-3-27b-it",
    ),
    called(
        "llama.cpp: null content first, `timings` at the end",
        chunk({"role": "assistant", "content": None}),
        calls(CALL),
        chunk(choices=[], timings={"predicted_n": 4}, usage=USAGE),
        kind="llama.cpp",
        model="gemma-3",
    ),
    called("LM Studio: a number as text for the id", calls({**CALL, "id": "483920113"})),
    called(
        "Together: text of the completion beside the delta",
        choice(delta={"tool_calls": [CALL]}, text="", logprobs=None),
    ),
    called(
        "Fireworks: the finish reason in a chunk with the call",
        choice(delta={"tool_calls": [CALL]}, finish_reason="tool_calls"),
        finish=None,
    ),
    called("Cohere: `TOOL_CALL`", say("I will multiply. "), calls(CALL), finish="TOOL_CALL"),
    called(
        "xAI: the call whole in the last chunk",
        chunk({"reasoning_content": "Hm"}),
        calls(CALL),
        model="grok-4",
        returned=("Hm",),
    ),
    called(
        "Groq: `x_groq` and counts in it",
        calls(CALL),
        chunk(finish="tool_calls", x_groq={"id": "req_1", "usage": USAGE}),
        finish=None,
        kind="groq",
        model="openai/gpt-oss-120b",
    ),
    called(
        "gpt-oss: a token of the template after the name",
        calls({**CALL, "function": {"name": "calculate<|channel|>commentary", "arguments": SUM}}),
    ),
    called(
        "Models: `functions.` before the name",
        calls({**CALL, "function": {"name": "functions.calculate", "arguments": SUM}}),
    ),
    called(
        "Models: `functions.` before the name, in every piece",
        calls({**CALL, "function": {"name": "functions.calculate", "arguments": SUM[:5]}}),
        calls({**CALL, "function": {"name": "functions.calculate", "arguments": SUM[5:]}}),
    ),
    called(
        "Kimi elsewhere: its id as the name",
        calls({**CALL, "function": {"name": "functions.calculate:0", "arguments": SUM}}),
    ),
    called(
        "Gemini: `default_api.` before the name",
        calls({**CALL, "function": {"name": "default_api.calculate", "arguments": SUM}}),
    ),
    called("Models: a space before the name", calls({**CALL, "function": {"name": " calculate", "arguments": SUM}})),
    called(
        "Models: arguments encoded twice",
        calls({**CALL, "function": {"name": "calculate", "arguments": json.dumps(SUM)}}),
    ),
    called("Gateways: an id of 500 characters", calls({**CALL, "id": "x" * 500})),
    called("Gateways: an id with spaces and a line end", calls({**CALL, "id": "call \u00fc\n1"})),
    called("Gateways: an index as text for the call", calls({**CALL, "index": "0"})),
    called(
        "Models: line ends after the arguments",
        calls({**CALL, "function": {"name": "calculate", "arguments": SUM + "\n\n"}}),
    ),
    called(
        "Models: text after the call",
        calls(CALL),
        say("Now."),
        end("tool_calls"),
        finish=None,
    ),
    Case(
        "Servers without streams: a whole reply with a call",
        (
            whole(
                choices=[
                    {
                        "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
                        "finish_reason": "tool_calls",
                    }
                ]
            ),
            FINE,
        ),
        is_sum=True,
    ),
    Case(
        "Models: a tool that does not exist",
        (stream(calls({**CALL, "function": {"name": "web_search", "arguments": SUM}}), end("tool_calls")), FINE),
        returned=("web_search",),
    ),
    *(
        Case(
            f"Models: arguments with {what}",
            (stream(calls({**CALL, "function": {"name": "calculate", "arguments": text}}), end("tool_calls")), FINE),
        )
        for what, text in (
            ("a trailing comma", '{"expression": "6*7",}'),
            ("Python's words", "{'expression': None}"),
            ("two objects", SUM + SUM),
            ("a fence", f"```json\n{SUM}\n```"),
            ("an open string", '{"expression": "6*7'),
            ("a comment", '{"expression": "6*7"} // ok'),
        )
    ),
]

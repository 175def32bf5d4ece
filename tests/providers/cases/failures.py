"""Failures, as named servers report them. docs/provider-quirks.md lists them."""

from __future__ import annotations

from tests.fake_answers import Answer, Cut, event, raw, reply, respond, stream
from tests.providers.cases.case import Case, choice, failed, whole
from tests.providers.quirks import end, say

FAILURES = [
    failed(
        "Azure: the filter blocks the question",
        respond(
            400,
            {
                "error": {
                    "message": "The prompt triggered Azure OpenAI's content management policy.",
                    "type": None,
                    "param": "prompt",
                    "code": "content_filter",
                    "status": 400,
                    "innererror": {"code": "ResponsibleAIPolicyViolation"},
                }
            },
        ),
        "blocked the question",
        kind="azure",
    ),
    failed(
        "DashScope: `data_inspection_failed`",
        respond(
            400,
            {"error": {"code": "data_inspection_failed", "message": "Input data may contain inappropriate content."}},
        ),
        "blocked the question",
        kind="qwen",
        model="qwen3-max",
    ),
    failed(
        "OpenRouter: flagged by moderation",
        respond(
            403,
            {
                "error": {
                    "code": 403,
                    "message": "openai/gpt-4 requires moderation. Your input was flagged",
                    "metadata": {"reasons": ["x"]},
                }
            },
        ),
        "blocked the question",
    ),
    failed(
        "DeepSeek: no balance (402)",
        respond(402, {"error": {"message": "Insufficient Balance", "type": "unknown_error"}}),
        "no credit left",
        kind="deepseek",
        model="deepseek-chat",
    ),
    failed(
        "Anthropic: no credit, with status 400",
        respond(
            400,
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "Your credit balance is too low to access the Anthropic API.",
                },
            },
        ),
        "no credit left",
        kind="anthropic-compatible",
        model="claude-sonnet-4-5",
    ),
    failed(
        "OpenAI: `insufficient_quota`",
        respond(429, {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}),
        "no credit left",
    ),
    failed(
        "OpenRouter: more credits are needed (402)",
        respond(402, {"error": {"code": 402, "message": "This request requires more credits, or fewer max_tokens."}}),
        "no credit left",
    ),
    failed(
        "xAI: all credits are used, with status 429",
        respond(
            429,
            {
                "code": "Some resource has been exhausted",
                "error": "Your team 16f2 has either used all available credits or reached its monthly spending limit.",
            },
        ),
        "no credit left",
        model="grok-4",
    ),
    failed(
        "Kimi: `exceeded_current_quota_error`",
        respond(429, {"error": {"message": "Your account is suspended", "type": "exceeded_current_quota_error"}}),
        "no credit left",
        kind="kimi",
        model="kimi-k2",
    ),
    failed(
        "DashScope: `Arrearage`",
        respond(400, {"error": {"code": "Arrearage", "message": "Access denied, please see your bill."}}),
        "no credit left",
        kind="qwen",
        model="qwen3-max",
    ),
    failed(
        "LiteLLM: a budget that is spent, with status 400",
        respond(400, {"error": {"message": "Budget has been exceeded! Current cost: 5.1", "type": "budget_exceeded"}}),
        "no credit left",
    ),
    failed(
        "MiniMax: no balance, with status 200",
        whole(choices=None, base_resp={"status_code": 1008, "status_msg": "insufficient balance"}),
        "no credit left",
        kind="minimax",
        model="MiniMax-M3",
    ),
    failed(
        "OpenRouter: no credits in the stream",
        stream({"error": {"code": 402, "message": "Insufficient credits"}}),
        "no credit left",
    ),
    failed(
        "Groq: 498, no room in the tier",
        respond(498, {"error": {"message": "capacity exceeded", "type": "capacity_exceeded"}}),
        "too many requests",
        kind="groq",
        model="openai/gpt-oss-120b",
    ),
    failed(
        "Anthropic: 529",
        respond(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        "failed",
        kind="anthropic-compatible",
        model="claude-sonnet-4-5",
    ),
    failed("Cloudflare: 524 as a page", respond(524, "<html><title>524</title></html>"), "failed"),
    failed("Proxies: 502 without a body", Answer([b""], status=502, content_type=None), "failed"),
    failed(
        "FastAPI: 422 with a list",
        respond(422, {"detail": [{"loc": ["body"], "msg": "field required", "type": "missing"}]}),
        "did not accept",
    ),
    failed(
        "llama.cpp: 503 while it loads",
        respond(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
        "failed",
        kind="llama.cpp",
        model="gemma-3",
    ),
    failed(
        "llama.cpp: `error:` in the stream",
        raw(event(say("Hi")), b'error: {"code":500,"message":"slot unavailable","type":"server_error"}\n\n'),
        "failed",
        kind="llama.cpp",
        model="gemma-3",
    ),
    failed(
        "vLLM: an error object without `error`",
        stream({"object": "error", "message": "bad", "type": "BadRequestError", "param": None, "code": 400}),
        "did not accept",
        kind="vllm",
        model="google/gemma-3",
    ),
    failed(
        "MiniMax: `base_resp` with status 200",
        whole(choices=None, base_resp={"status_code": 1004, "status_msg": "login fail"}),
        "failed",
        kind="minimax",
        model="MiniMax-M3",
    ),
    failed("Chinese gateways: `code` and `msg` with status 200", whole(code=500, msg="busy", success=False), "failed"),
    failed("Baidu: `error_code` and `error_msg`", whole(error_code=336000, error_msg="Internal error"), "failed"),
    failed(
        "OpenRouter: an error beside a choice that ended with `error`",
        stream(
            {
                **choice(delta={"content": ""}, finish_reason="error"),
                "error": {"code": 502, "message": "Provider returned error"},
            }
        ),
        "failed",
    ),
    failed(
        "Groq: an error event with a status",
        raw(b'event: error\ndata: {"error":{"message":"x","type":"internal_server_error","status_code":500}}\n\n'),
        "failed",
        kind="groq",
        model="openai/gpt-oss-120b",
    ),
    failed(
        "LiteLLM: an error whose code is text",
        stream({"error": {"message": "x", "type": "None", "param": "None", "code": "500"}}),
        "failed",
    ),
    failed(
        "TGI: an error as text with its type",
        stream({"error": "Model is overloaded", "error_type": "overloaded"}),
        "failed",
    ),
    failed(
        "LM Studio: an error event",
        raw(b'event: error\ndata: {"error":{"message":"The model has crashed"}}\n\n'),
        "failed",
    ),
    failed(
        "DeepSeek: `insufficient_system_resource` before any text",
        stream(end("insufficient_system_resource")),
        "broke off",
        kind="deepseek",
        model="deepseek-chat",
    ),
    failed("SGLang: `abort`", stream(end("abort")), "broke off"),
    failed("GLM: `network_error`", stream(end("network_error")), "broke off", model="glm-5"),
    failed("Proxies: a connection that is closed after the headers", raw(Cut()), "failed"),
    failed(
        "Proxies: a page of HTML with status 200",
        Answer([b"<html>login</html>"], content_type="text/html"),
        "cannot be read",
    ),
    Case("A gateway that gave up once is asked again", (stream(end("abort")), reply("Hi")), "Hi"),
    Case(
        "An overloaded server that recovers",
        (stream({"error": {"code": 529, "message": "overloaded"}}), reply("Hi")),
        "Hi",
    ),
]

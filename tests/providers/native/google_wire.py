"""What Gemini answers, and what it refuses.

Sources: https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/thought-signatures,
.../function-calling and .../troubleshooting
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.fake_answers import Answer, Step, event, respond

Body = dict[str, Any]
SIGNATURE = "c2lnbmF0dXJl"
SKIPPED = "skip_thought_signature_validator"
USAGE = {"promptTokenCount": 11, "cachedContentTokenCount": 4, "candidatesTokenCount": 5, "thoughtsTokenCount": 2}
_NAMES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
_NAMES |= {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}


def chunk(*parts: dict[str, Any], finish: str = "", **more: Any) -> dict[str, Any]:
    """Return one chunk; keyword arguments are fields of its candidate."""
    candidate: dict[str, Any] = {"index": 0, **more}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-3.8-flash", "responseId": "r1"}


def call(name: str, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    """Return a part with a call; `id` is the call's, other fields are the part's."""
    body = {"name": name, "args": {} if arguments is None else arguments}
    if "id" in fields:
        body["id"] = fields.pop("id")
    return {"functionCall": body, **fields}


def end(reason: str = "STOP", *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**chunk(*parts, finish=reason, **more), "usageMetadata": USAGE}


def stream(*events: dict[str, Any] | Step) -> Answer:
    return Answer([event(one) if isinstance(one, dict) else one for one in events])


def say(said: str = "", *, reasoning: str = "", calls: Sequence[tuple[str, Any]] = (), number: int = 0) -> Answer:
    """Return a whole answer. The first call has a signature; every second answer gives ids."""
    events = [chunk({"text": reasoning, "thought": True})] if reasoning else []
    events += [chunk({"text": piece}) for piece in re.findall(r"\S+\s*", said)]
    parts = []
    for at, (name, arguments) in enumerate(calls):
        fields = {"id": f"fc-{number}{at}"} if number % 2 else {}
        signed = {} if at else {"thoughtSignature": f"{SIGNATURE}{number}"}
        parts.append(call(name, json.loads(arguments) if isinstance(arguments, str) else arguments, **fields, **signed))
    return stream(*events, *([chunk(*parts)] if parts else []), end("STOP", {"text": ""}))


def failed(status: int, said: str, *, headers: dict[str, str] | None = None, **fields: Any) -> Answer:
    return respond(status, _error(status, said, **fields), headers=headers)


def error_event(status: int, said: str) -> bytes:
    return event(_error(status, said))


def _error(status: int, said: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"code": status, "message": said, "status": _NAMES.get(status, "UNKNOWN"), **fields}}


def parts(body: Body) -> Iterator[dict[str, Any]]:
    for content in body["contents"]:
        yield from content["parts"]


def texts(body: Body) -> list[tuple[str, str]]:
    """Return the texts of the contents with their roles, those of the model as the assistant's."""
    roles = {"user": "user", "model": "assistant"}
    return [(roles[c["role"]], p["text"]) for c in body["contents"] for p in c["parts"] if "text" in p]


def given(body: Body) -> list[str]:
    """Return the signatures and ids that came back."""
    signatures = [one["thoughtSignature"] for one in parts(body) if "thoughtSignature" in one]
    return signatures + [one["functionCall"]["id"] for one in parts(body) if "id" in one.get("functionCall", {})]


def problems(body: Body) -> Iterator[str]:
    """Yield what Gemini would refuse of a request."""
    contents = body["contents"]
    roles = [content["role"] for content in contents]
    if roles[0] != "user" or roles[-1] != "user" or set(roles) - {"user", "model"}:
        yield "Please use a valid role: user, model."
    if any(one == other for one, other in itertools.pairwise(roles)):
        yield "Please ensure that multiturn requests alternate between user and model."
    if any(not content["parts"] for content in contents):
        yield "Unable to submit request because it must include at least one parts field."
    for one in parts(body):
        fields = set(one) - {"thoughtSignature"}
        if len(fields) != 1 or fields - {"text", "functionCall", "functionResponse", "inlineData"}:
            yield "Invalid value at 'contents.parts' (oneof), oneof field 'data' is already set."
        if "text" in one and not one["text"].strip():
            yield "Unable to submit request because it must have a text parameter."
    yield from _calls(body)
    known = {"contents", "systemInstruction", "generationConfig", "tools", "toolConfig", "safetySettings"}
    if unknown := set(body) - known:
        yield f'Invalid JSON payload received. Unknown name "{min(unknown)}": Cannot find field.'
    config = {"temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "seed", "responseMimeType"}
    config |= {"responseJsonSchema", "thinkingConfig", "presencePenalty", "frequencyPenalty"}
    if unknown := set(body.get("generationConfig", {})) - config:
        yield f"Unknown name \"{min(unknown)}\" at 'generation_config': Cannot find field."


def _calls(body: Body) -> Iterator[str]:
    declared = {one["name"] for tool in body.get("tools", ()) for one in tool["functionDeclarations"]}
    waiting: list[dict[str, Any]] = []
    for content in body["contents"]:
        results = [one["functionResponse"] for one in content["parts"] if "functionResponse" in one]
        if [one["name"] for one in results] != [one["name"] for one in waiting]:
            yield "Please ensure that the number of function response parts is equal to that of function call parts."
        elif [one.get("id") for one in results] != [one.get("id") for one in waiting]:
            yield "A function response has another id than its call."
        if any(not isinstance(one["response"], dict) for one in results):
            yield "functionResponse.response: Proto field is not repeating, cannot start list."
        calls = [one for one in content["parts"] if "functionCall" in one]
        waiting = [one["functionCall"] for one in calls]
        if calls and not str(calls[0].get("thoughtSignature", "")).startswith((SIGNATURE, SKIPPED)):
            yield "Function call is missing a thought_signature in functionCall parts."
        if any(not isinstance(one["args"], dict) for one in waiting):
            yield "Invalid value at 'functionCall.args'"
        if any(not re.fullmatch(r"[a-zA-Z_][\w.:-]{0,127}", one["name"]) for one in waiting):
            yield "Invalid function name."
        if waiting and not declared:
            yield "Function calls of functions that are not declared."
    if waiting:
        yield "A function call has no response."

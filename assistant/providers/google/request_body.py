"""Builds the body of a Gemini request. It is valid for any history and any options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from assistant.core.llm.protocol import ModelRequest
from assistant.providers.google.history import called_names, wire_conversation
from assistant.providers.native.request_parts import schema_of
from assistant.providers.openai_wire.request_body import encoded
from assistant.toolkit import Tool

# Options of chat completions, by Google's names. Those without a counterpart are left out.
_CONFIG = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
# Google's own options, which are sent as they are.
_OWN = frozenset({"generationConfig", "safetySettings", "cachedContent", "labels", "serviceTier"})
_PENALTIES = ("presencePenalty", "frequencyPenalty", "seed")


def request_body(
    request: ModelRequest,
    *,
    model: str,
    sees_images: bool,
    extra: Mapping[str, Any],
    changes: frozenset[str],
    origin: str,
) -> bytes:
    """Return the JSON body to send.

    Args:
        sees_images: send the images that tools returned and users attached.
        extra: further options; those of the same name in `request.options` are used instead.
        changes: what this model has refused before, as `change_for` names it.
        origin: of the provider, as `origin_of` returns it.
    """
    system, contents = wire_conversation(
        request.messages, model, origin, sees_images=sees_images, with_state="state" not in changes
    )
    own = {name: value for name, value in request.options.items() if name in _OWN}
    body: dict[str, Any] = {**extra, **own, "contents": contents}
    config = {**_object(extra.get("generationConfig")), **_object(own.get("generationConfig"))}
    config |= _options(request.options)
    if "penalties" in changes:
        config = {name: value for name, value in config.items() if name not in _PENALTIES}
    if request.response_format:
        config["responseMimeType"] = "application/json"
        if (schema := schema_of(request.response_format)) is not None:
            config["responseJsonSchema"] = schema
    if system:
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if config:
        body["generationConfig"] = config
    declared = [_declaration(tool) for tool in request.tools]
    mode = _mode(request.tool_choice) if declared else {}
    if not declared and (called := called_names(contents)):  # calls of functions that are not declared are refused
        declared = [{"name": name} for name in called]
        mode = {"mode": "NONE"}
    if declared:
        body["tools"] = [{"functionDeclarations": declared}]
    if mode:
        body["toolConfig"] = {"functionCallingConfig": mode}
    return encoded(body)


def change_for(reason: str, request: ModelRequest, *, is_typed_by_tool: bool) -> str:
    """Return what to change so that a refused request may be accepted; "" if nothing can help."""
    if request.response_format and re.search(
        r"response.?mime.?type|response.?(?:json.?)?schema|json mode|schema", reason, re.IGNORECASE
    ):
        return "format"
    if is_typed_by_tool and re.search(r"\btools?\b|function.?calling|function", reason, re.IGNORECASE):
        return "tools"
    if re.search(r"thought.?signature", reason, re.IGNORECASE):
        return "state"
    return "penalties" if re.search(r"penalty|\bseed\b", reason, re.IGNORECASE) else ""


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    found = {_CONFIG[name]: value for name, value in options.items() if name in _CONFIG and value is not None}
    if isinstance(stop := found.get("stopSequences"), str):
        found["stopSequences"] = [stop]
    return found


def _declaration(tool: Tool) -> dict[str, Any]:
    wire: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if tool.parameters.get("properties"):
        wire["parametersJsonSchema"] = tool.parameters
    return wire


def _mode(choice: str | None) -> dict[str, Any]:
    if not choice:
        return {}
    modes = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
    return {"mode": modes[choice]} if choice in modes else {"mode": "ANY", "allowedFunctionNames": [choice]}

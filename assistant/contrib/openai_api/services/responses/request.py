"""Validates a request of OpenAI's Responses API.

The format is that of https://platform.openai.com/docs/api-reference/responses/create. What is not supported is refused,
so that a caller notices it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from assistant.contrib.openai_api.services.request_fields import (
    MAX_ID_LENGTH,
    InvalidRequest,
    flag_of,
    function_tools,
    text_of,
)
from assistant.contrib.openai_api.services.responses.input_items import Item, parse_items
from assistant.contrib.openai_api.services.responses.request_options import (
    MAX_VALUE,
    NUMBERS,
    metadata_of,
    provider_options,
    reasoning_of,
    response_format_of,
    text_format_of,
)
from assistant.services.runs.client_tools import MAX_TOOLS
from assistant.toolkit import Tool

# Accepted and given back. They are about OpenAI's own caches and accounts.
HINTS = ("user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention")
INCLUDABLE = frozenset(
    {
        "code_interpreter_call.outputs",
        "computer_call_output.output.image_url",
        "file_search_call.results",
        "message.input_image.image_url",
        "reasoning.encrypted_content",
        "web_search_call.action.sources",
        "web_search_call.results",
    }
)
UNSUPPORTED = (
    "access_programs",
    "context_management",
    "image",
    "max_tool_calls",
    "moderation",
    "prompt",
    "prompt_cache_options",
    "top_logprobs",
)
KNOWN = frozenset(
    {
        "background",
        "conversation",
        "include",
        "input",
        "instructions",
        "metadata",
        "model",
        "parallel_tool_calls",
        "previous_response_id",
        "reasoning",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "text",
        "tool_choice",
        "tools",
        "truncation",
        *NUMBERS,
        *HINTS,
        *UNSUPPORTED,
    }
)


@dataclass(frozen=True, slots=True)
class ResponseRequest:
    """A validated request. `model` is the slug of the assistant.

    Attributes:
        previous: the id of the response that it continues; "" for none.
        conversation: the id or key of the conversation that it belongs to; "" for none.
        echo: the fields of the response that give back what was asked for.
    """

    model: str
    items: tuple[Item, ...]
    instructions: str
    client_tools: tuple[Tool, ...]
    tool_choice: str | None
    options: Mapping[str, Any]
    response_format: Mapping[str, Any] | None
    previous: str
    conversation: str
    is_streamed: bool
    is_background: bool
    is_stored: bool
    echo: Mapping[str, Any]


def parse_response(body: Mapping[str, Any]) -> ResponseRequest:
    """Parse a request. Raises `InvalidRequest`; `Refused` for a file that cannot be taken."""
    for name in body:
        if name not in KNOWN:
            raise InvalidRequest(name[:100], "there is no such parameter.", error_code="unknown_parameter")
    for name in UNSUPPORTED:
        if body.get(name):
            raise InvalidRequest(name, "is not supported.", error_code="unsupported_parameter")
    _check_others(body)
    tools, choice = _tools(body.get("tools")), body.get("tool_choice")
    offered, tool_choice = _chosen(choice, tools)
    previous = _id(body, "previous_response_id")
    conversation = _conversation(body.get("conversation"))
    if previous and conversation:
        raise InvalidRequest("previous_response_id", "cannot be sent together with conversation.")
    is_stored, is_background = body.get("store") is not False, flag_of(body, "background")
    if is_background and not is_stored:
        raise InvalidRequest("background", "needs store, because the response is read later.")
    if conversation and not is_stored:
        raise InvalidRequest("store", "must be true in a conversation, which keeps what is said.")
    instructions = body.get("instructions")
    if instructions is not None and not isinstance(instructions, str):
        raise InvalidRequest("instructions", "must be a text.")
    echo = _echo(body)
    return ResponseRequest(
        model=text_of(body.get("model"), "model", most=MAX_ID_LENGTH),
        items=parse_items(body.get("input")),
        instructions=text_of(instructions or "", "instructions", least=0),
        client_tools=offered,
        tool_choice=tool_choice,
        options=provider_options(body),
        response_format=response_format_of(echo["text"]["format"]),
        previous=previous,
        conversation=conversation,
        is_streamed=flag_of(body, "stream"),
        is_background=is_background,
        is_stored=is_stored,
        echo=echo,
    )


def _check_others(body: Mapping[str, Any]) -> None:
    """Check the fields that are given back, or have no effect. Raises `InvalidRequest`."""
    if body.get("store") is not None:
        flag_of(body, "store")
    include = body.get("include") or []
    if not isinstance(include, list) or not set(map(str, include)) <= INCLUDABLE:
        raise InvalidRequest("include", f"may have {', '.join(sorted(INCLUDABLE))}.")
    if body.get("truncation") not in (None, "auto", "disabled"):
        raise InvalidRequest("truncation", "must be auto or disabled.")
    if body.get("service_tier") not in (None, "auto", "default"):
        raise InvalidRequest("service_tier", "must be auto or default.")
    options = body.get("stream_options")
    if options is not None:
        if not body.get("stream"):
            raise InvalidRequest("stream_options", "is only allowed when stream is true.")
        if not isinstance(options, dict) or not set(options) <= {"include_obfuscation"}:
            raise InvalidRequest("stream_options", "may have include_obfuscation alone.")
    for name in HINTS:
        if body.get(name) is not None:
            text_of(body[name], name, least=0, most=MAX_VALUE)


def _echo(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the response that give back what was asked for, with OpenAI's defaults."""
    numbers = {name: body.get(name) for name in NUMBERS}
    format_, verbosity = text_format_of(body.get("text"))
    parallel = body.get("parallel_tool_calls")
    choice = body.get("tool_choice")
    conversation = _conversation(body.get("conversation"))
    return {
        "model": body.get("model"),
        "instructions": body.get("instructions"),
        "previous_response_id": body.get("previous_response_id"),
        "conversation": {"id": conversation} if conversation else None,
        "metadata": metadata_of(body.get("metadata")),
        "tools": [_tool_echo(tool) for tool in body.get("tools") or ()],
        "tool_choice": "auto" if choice is None else choice,
        "parallel_tool_calls": True if parallel is None else parallel,
        "temperature": 1.0 if numbers["temperature"] is None else numbers["temperature"],
        "top_p": 1.0 if numbers["top_p"] is None else numbers["top_p"],
        "presence_penalty": numbers["presence_penalty"] or 0.0,
        "frequency_penalty": numbers["frequency_penalty"] or 0.0,
        "top_logprobs": 0,
        "max_output_tokens": numbers["max_output_tokens"],
        "max_tool_calls": None,
        "text": {"format": format_, **({"verbosity": verbosity} if verbosity else {})},
        "reasoning": reasoning_of(body.get("reasoning")),
        "truncation": body.get("truncation") or "disabled",
        "service_tier": "default",
        "store": body.get("store") is not False,
        "background": bool(body.get("background")),
        "user": body.get("user"),
        "safety_identifier": body.get("safety_identifier"),
        "prompt_cache_key": body.get("prompt_cache_key"),
    }


def _tool_echo(tool: Mapping[str, Any]) -> dict[str, Any]:
    names = ("name", "description", "parameters", "strict")
    return {"type": "function", **{name: tool.get(name) for name in names}}


def _tools(given: object) -> tuple[Tool, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > MAX_TOOLS:
        raise InvalidRequest("tools", f"must be a list of at most {MAX_TOOLS} tools.")
    for index, tool in enumerate(given):
        kind = tool.get("type") if isinstance(tool, dict) else None
        if kind != "function":
            sentence = "must be function: the assistant's own tools are switched on by its administrators."
            raise InvalidRequest(f"tools[{index}].type", sentence)
        flag_of(tool, "strict")
    return function_tools(given, [f"tools[{index}]" for index in range(len(given))])


def _chosen(given: object, tools: tuple[Tool, ...]) -> tuple[tuple[Tool, ...], str | None]:
    """Return the tools to offer, and which must be called. Raises `InvalidRequest`."""
    own = {tool.name for tool in tools}
    if given is None or given in ("auto", "none"):
        return tools, str(given) if given else None
    if given == "required" and own:
        return tools, "required"
    kind = given.get("type") if isinstance(given, dict) else None
    if isinstance(given, dict) and kind == "function" and _is_in(given.get("name"), own):
        return tools, str(given["name"])
    if isinstance(given, dict) and kind == "allowed_tools" and given.get("mode") in ("auto", "required"):
        named = given.get("tools")
        names = [one.get("name") for one in named if isinstance(one, dict)] if isinstance(named, list) else []
        if names and all(_is_in(name, own) for name in names):
            allowed = tuple(tool for tool in tools if tool.name in names)
            return allowed, "required" if given["mode"] == "required" else None
    raise InvalidRequest("tool_choice", "must be auto, none, or name the request's own tools.")


def _is_in(name: object, known: Collection[str]) -> bool:
    """Return whether a JSON value, which need not be hashable, is one of the names."""
    return isinstance(name, str) and name in known


def _id(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    return "" if value is None else text_of(value, name, most=4 * MAX_ID_LENGTH)


def _conversation(given: object) -> str:
    identity = given.get("id") if isinstance(given, dict) else given
    return "" if identity is None else text_of(identity, "conversation", most=200)

"""Reads the options of a request of the Responses API: numbers, reasoning, the format of the text, metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.contrib.openai_api.services.request_fields import Bounds, InvalidRequest, flag_of, number_of, text_of
from assistant.toolkit.schema.bounds import InvalidSchema, check_size

# Sent to the provider: name here, name in chat completions, bounds.
NUMBERS: Mapping[str, tuple[str, Bounds]] = {
    "temperature": ("temperature", (float, 0, 2)),
    "top_p": ("top_p", (float, 0, 1)),
    "presence_penalty": ("presence_penalty", (float, -2, 2)),
    "frequency_penalty": ("frequency_penalty", (float, -2, 2)),
    "max_output_tokens": ("max_completion_tokens", (int, 1, 2**31)),
}
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
VERBOSITIES = ("low", "medium", "high")
MAX_PAIRS, MAX_KEY, MAX_VALUE = 16, 64, 512


def provider_options(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for the provider, as chat completions name them. Raises `InvalidRequest`."""
    numbers = {renamed: number_of(body, name, bounds) for name, (renamed, bounds) in NUMBERS.items()}
    options: dict[str, Any] = {name: value for name, value in numbers.items() if value is not None}
    if body.get("parallel_tool_calls") is not None:
        parallel = flag_of(body, "parallel_tool_calls")
        if body.get("tools"):
            options["parallel_tool_calls"] = parallel
    if (effort := (reasoning_of(body.get("reasoning")) or {}).get("effort")) is not None:
        options["reasoning_effort"] = effort
    if (verbosity := text_format_of(body.get("text"))[1]) is not None:
        options["verbosity"] = verbosity
    return options


def reasoning_of(given: object) -> dict[str, Any] | None:
    """Return the effort of reasoning; None if the request names none. Raises `InvalidRequest`."""
    if given is None:
        return None
    if not isinstance(given, dict) or not set(given) <= {"effort", "summary", "generate_summary"}:
        raise InvalidRequest("reasoning", "may have effort and summary.")
    if given.get("effort") not in (None, *EFFORTS):
        raise InvalidRequest("reasoning.effort", f"must be {', '.join(EFFORTS)}.")
    summary = given.get("summary") or given.get("generate_summary")
    if summary not in (None, "auto", "concise", "detailed"):
        raise InvalidRequest("reasoning.summary", "must be auto, concise or detailed.")
    return {"effort": given.get("effort"), "summary": summary}


def text_format_of(given: object) -> tuple[dict[str, Any], str | None]:
    """Return the format of the text, with OpenAI's fields, and its verbosity. Raises `InvalidRequest`."""
    if given is None:
        return {"type": "text"}, None
    if not isinstance(given, dict) or not set(given) <= {"format", "verbosity"}:
        raise InvalidRequest("text", "may have format and verbosity.")
    verbosity = given.get("verbosity")
    if verbosity not in (None, *VERBOSITIES):
        raise InvalidRequest("text.verbosity", f"must be {', '.join(VERBOSITIES)}.")
    format_ = given.get("format") or {"type": "text"}
    kinds = ("text", "json_object", "json_schema")
    if not isinstance(format_, dict) or format_.get("type") not in kinds:
        raise InvalidRequest("text.format", f"must be of the type {', '.join(kinds)}.")
    if format_["type"] != "json_schema":
        return {"type": format_["type"]}, verbosity
    schema = format_.get("schema")
    if not isinstance(schema, dict):
        raise InvalidRequest("text.format.schema", "must be a JSON Schema.")
    try:
        check_size(schema)
    except InvalidSchema as exc:
        raise InvalidRequest("text.format.schema", f"cannot be used: {exc}.") from exc
    name = text_of(format_.get("name"), "text.format.name", most=MAX_KEY)
    description = text_of(format_.get("description") or "", "text.format.description", least=0) or None
    described = {"name": name, "description": description, "schema": schema, "strict": flag_of(format_, "strict")}
    return {"type": "json_schema", **described}, verbosity


def response_format_of(format_: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the format as chat completions name it."""
    if format_["type"] == "text":
        return None
    if format_["type"] == "json_object":
        return format_
    inner = {name: value for name, value in format_.items() if name != "type" and value is not None}
    return {"type": "json_schema", "json_schema": inner}


def metadata_of(given: object) -> dict[str, str]:
    """Return the caller's metadata of a response. Raises `InvalidRequest`."""
    if given is None:
        return {}
    if not isinstance(given, dict) or len(given) > MAX_PAIRS:
        raise InvalidRequest("metadata", f"must be an object with at most {MAX_PAIRS} texts.")
    for name, value in given.items():
        text_of(name, "metadata", most=MAX_KEY)
        text_of(value, f"metadata.{name}", least=0, most=MAX_VALUE)
    return given

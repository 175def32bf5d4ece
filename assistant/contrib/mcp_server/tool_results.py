"""Converts tools and their results to MCP's types."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Tool as Description

from assistant.contrib.mcp_server.direct_call import CalledTool
from assistant.toolkit import Media, Tool, ToolResult
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.calls.call import MAX_STORED_TOKENS, cut
from assistant.toolkit.calls.json_values import truncation_notice
from assistant.toolkit.definition.handwritten import HandWritten
from assistant.toolkit.schema.check import fits_on_loop
from assistant.toolkit.schema.json_schema import JsonSchema, resolve

# Before 2026-07-28 structured results had to be objects, so other values are wrapped under this name.
RESULT = "result"
_TOO_LONG = "The result is too long to be returned complete, as this tool's output schema requires. Ask for less."
_RAN = (
    "The call was carried out: do not repeat it. Its result is too long to be returned complete, as this tool's output "
    "schema requires. It begins:"
)


def describe(tool: Tool) -> Description:
    """Return the description of a tool for `tools/list`."""
    return Description(
        name=tool.name,
        title=tool.title or " ".join(filter(None, tool.name.split("_"))).capitalize(),
        description=tool.description,
        input_schema={"type": "object", **tool.parameters},
        output_schema=output_schema(tool),
        annotations=ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent or tool.read_only or None,
            open_world_hint=tool.open_world,
        ),
    )


def output_schema(tool: Tool) -> JsonSchema | None:
    """Return the schema of a tool's structured result, or None if its result need not follow one.

    External servers may answer without what their schemas promise, for which clients would drop the whole result.
    """
    schema = tool.output_schema
    if schema is None or tool.result_converter is not None or _is_external(tool):
        return None
    if _is_object(schema):
        return {"type": "object", **schema}
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    return {
        "type": "object",
        "properties": {RESULT: inner, "note": {"type": "string", "description": "What was left out."}},
        "required": [RESULT],
        **definitions,
    }


def result_of(called: CalledTool) -> CallToolResult:
    """Return the result of a call: text, files, and the value itself if the tool has an output schema."""
    outcome, result = called.outcome, called.result
    if outcome.status != "ok" or result is None or called.tool is None:
        return failed(outcome.content or "The call failed.")
    content: list[ContentBlock] = [TextContent(text=outcome.content)] if outcome.content or not result.media else []
    content += [_block(media) for media in result.media]
    if _is_external(called.tool):
        return CallToolResult(content=content, structured_content=_remote_value(result))
    schema = output_schema(called.tool)
    if schema is None:
        return CallToolResult(content=content)
    structured = _structured(result.full or result.content, called.tool.output_schema or {})
    if structured is None or not fits_on_loop(structured, schema):
        # Clients drop a result without the value that the schema promises, unless it is an error.
        return failed(_TOO_LONG if called.tool.read_only else f"{_RAN}\n{outcome.content}")
    return CallToolResult(content=content, structured_content=structured)


def failed(sentence: str) -> CallToolResult:
    """Return an error result; the model reads the sentence and can try again."""
    return CallToolResult(content=[TextContent(text=sentence)], is_error=True)


def _is_external(tool: Tool) -> bool:
    """Return whether an external server runs the tool."""
    return tool.untrusted and isinstance(tool.signature, HandWritten)


def _is_object(schema: JsonSchema) -> bool:
    return resolve(schema, schema).get("type") == "object"


def _structured(text: str, schema: JsonSchema) -> dict[str, Any] | None:
    """Parse the value from the result's text, which has only what the caller may see. None if it was truncated."""
    try:
        value = load_json(text)
    except ValueError:
        return None
    if _is_object(schema):
        return value if isinstance(value, dict) else None
    if isinstance(value, list) and value[-1:] == [truncation_notice()]:
        return {RESULT: value[:-1], "note": truncation_notice()}
    return {RESULT: value}


def _remote_value(result: ToolResult) -> dict[str, Any] | None:
    """Return the value of an external server's tool, whose text may differ from its value."""
    try:
        text = json.dumps(result.value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return result.value if isinstance(result.value, dict) and cut(text, MAX_STORED_TOKENS) is text else None


def _block(media: Media) -> ContentBlock:
    if media.is_image:
        return ImageContent(data=_encoded(media), mime_type=media.media_type)
    if media.media_type.startswith("audio/"):
        return AudioContent(data=_encoded(media), mime_type=media.media_type)
    uri = f"attachment:{quote(media.name)}"
    try:
        text = None if media.media_type == "application/pdf" else media.data.decode()
    except UnicodeDecodeError:
        text = None
    return EmbeddedResource(
        resource=BlobResourceContents(uri=uri, mime_type=media.media_type, blob=_encoded(media))
        if text is None
        else TextResourceContents(uri=uri, mime_type=media.media_type, text=text)
    )


def _encoded(media: Media) -> str:
    return base64.b64encode(media.data).decode()

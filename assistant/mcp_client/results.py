"""Converts results of outside tools to `ToolResult`: text, files and structured values, sanitised and limited."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import replace

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)

from assistant.mcp_client.definitions import visible, visible_within
from assistant.toolkit import ToolError, ToolResult
from assistant.toolkit.media import MAX_BYTES, MAX_BYTES_TOGETHER, MAX_FILES, Media

MAX_BLOCKS = 100
MAX_TEXT = 200_000
# The text of an error that the server does not explain.
FAILED = "The tool failed, and said nothing of why."
# What the model reads of a structured value that is not what the tool's output schema says.
MISMATCH = "[The structured part of this answer does not match the tool's own schema.]"


def convert_result(result: CallToolResult) -> ToolResult:
    """Convert a result for the model and the page. A result that the server marks as an error stays an error."""
    texts: list[str] = []
    files: list[Media] = []
    for block in result.content[:MAX_BLOCKS]:
        read = _read(block)
        if isinstance(read, Media):
            if len(files) < MAX_FILES and sum(len(one.data) for one in [*files, read]) <= MAX_BYTES_TOGETHER:
                files.append(read)
            else:
                texts.append(f"[Left out: {read.sentence}]")
        elif read:
            texts.append(read)
    if len(result.content) > MAX_BLOCKS:
        texts.append(f"[Cut here: the first {MAX_BLOCKS} of {len(result.content):,} parts are shown.]")
    structured = visible_within(result.structured_content)
    if structured is not None and not texts:
        texts.append(json.dumps(structured, ensure_ascii=False))
    text = _shortened("\n".join(texts))
    return ToolResult(
        content=text or ("" if files else FAILED if result.is_error else "Done"),
        value=structured,
        is_error=result.is_error,
        media=tuple(files),
    )


def without_value(result: ToolResult) -> ToolResult:
    """Return a result whose value does not match the tool's output schema, without it; the text says what it was."""
    if result.value is None:
        return result
    return replace(result, content=f"{result.content}\n{MISMATCH}".lstrip("\n"), value=None)


def _read(block: ContentBlock) -> str | Media:
    match block:
        case TextContent():
            return visible(block.text)
        case ImageContent() | AudioContent():
            return _file(block.data, block.mime_type, "")
        case ResourceLink():
            about = f": {visible(block.description)}" if block.description else ""
            return f"[Resource {visible(block.name)!r} at {visible(str(block.uri))}{about}]"
        case EmbeddedResource():
            return _resource(block)


def _resource(block: EmbeddedResource) -> str | Media:
    resource = block.resource
    if isinstance(resource, BlobResourceContents):
        return _file(resource.blob, resource.mime_type or "", str(resource.uri).rpartition("/")[2])
    return f"[Resource {visible(str(resource.uri))}]\n{visible(resource.text)}"


def _file(data: str, media_type: str, name: str) -> str | Media:
    """Return the file, or a note that it was left out if its type or size is not allowed."""
    kind = visible(media_type)[:60] or "unknown type"
    if len(data) > MAX_BYTES * 4 / 3 + 4:
        return f"[A file ({kind}) that is too large was left out.]"
    try:
        content = base64.b64decode(data, validate=True)
        return Media(content, media_type, name=visible(name))
    except (binascii.Error, ValueError, ToolError):
        return f"[A file ({kind}) that cannot be shown was left out.]"


def _shortened(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}\n[Cut here: the first {MAX_TEXT:,} of {len(text):,} characters are shown.]"

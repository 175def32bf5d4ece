"""Results of outside tools become readable text and files that pages may show, and nothing else."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from assistant.mcp_client.definitions import visible
from assistant.mcp_client.results import MAX_BLOCKS, MAX_TEXT, convert_result
from assistant.toolkit import ToolResult
from assistant.toolkit.media import MAX_BYTES, MAX_FILES
from tests.mcp.outside_app import PNG

UNSEEN = "\x1b\x00\x9b\u061c\u115f\u180e\u200b\u200f\u202e\u2066\u3164\ufeff\ufff9\U000e0041"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: bytes = PNG, kind: str = "image/png") -> ImageContent:
    return ImageContent(data=encoded(data), mime_type=kind)


def blob(data: bytes, kind: str, uri: str = "test://a/b") -> EmbeddedResource:
    return EmbeddedResource(resource=BlobResourceContents(uri=uri, mime_type=kind, blob=encoded(data)))


def converted(*blocks: ContentBlock, **more: Any) -> ToolResult:
    return convert_result(CallToolResult(content=list(blocks), **more))


@pytest.mark.parametrize(
    "block",
    [
        image(kind="image/jpeg"),
        image(b"<script>alert(1)</script>"),
        image(b"<svg onload=alert(1)>", "image/svg+xml"),
        image(b""),
        image(PNG + b"x" * MAX_BYTES),
        ImageContent(data="no base64", mime_type="image/png"),
        blob(b"<script>", "text/html"),
        blob(b"MZ", "application/x-msdownload"),
    ],
)
def test_a_mislabelled_or_forbidden_file_is_only_named(block: ContentBlock) -> None:
    result = converted(block)
    assert result.media == () and "was left out.]" in result.content and "<s" not in result.content


def test_a_file_is_kept_under_a_safe_name() -> None:
    [kept] = converted(blob(PNG, "IMAGE/PNG; x=y", 'test://a/..%2f..\\etc\r\n".png')).media
    assert (kept.media_type, kept.data) == ("image/png", PNG)
    assert not set(kept.name) & set('/\\"\r\n%')


def test_files_and_parts_beyond_the_limit_are_named_as_left_out() -> None:
    result = converted(*[image()] * (MAX_FILES + 1))
    assert len(result.media) == MAX_FILES and "[Left out: " in result.content
    assert f"the first {MAX_BLOCKS} of 101 parts" in converted(*[TextContent(text="x")] * (MAX_BLOCKS + 1)).content


def test_links_are_passed_on_and_not_opened() -> None:
    link = ResourceLink(name=f"manual{UNSEEN}", uri="http://169.254.169.254/latest/", description=f"Old{UNSEEN}.")
    note = EmbeddedResource(resource=TextResourceContents(uri="file:///etc/passwd", text=f"a {UNSEEN}note"))
    assert converted(link, note).content == (
        "[Resource 'manual' at http://169.254.169.254/latest/: Old.]\n[Resource file:///etc/passwd]\na note"
    )


@pytest.mark.parametrize("character", UNSEEN)
def test_what_only_a_model_would_see_is_taken_out_of_texts_and_values(character: str) -> None:
    assert visible(f"a{character}b") == "ab"
    result = converted(structured_content={"x": [f"a{character}b"]})
    assert (result.content, result.value) == ('{"x": ["ab"]}', {"x": ["ab"]})


def test_a_lone_surrogate_does_not_break_the_text() -> None:
    assert converted(TextContent(text="a\ud800b")).content == "a?b"


def test_a_text_is_cut_and_says_so() -> None:
    assert converted(TextContent(text="x" * MAX_TEXT * 2)).content.endswith("of 400,000 characters are shown.]")


def test_an_empty_result_is_reported_as_empty() -> None:
    assert converted().content == "Done"
    assert converted(is_error=True).content == "The tool failed, and said nothing of why."

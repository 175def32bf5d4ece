"""Files that tools return: their types, checks, limits, and the text about them for the model."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.testing.tool_tester import ToolTester
from assistant.toolkit import Media, ToolError, ToolResult, tool
from assistant.toolkit.media import MAX_BYTES, MAX_FILES

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def test_a_tool_returns_an_image_and_the_model_reads_its_name() -> None:
    @tool
    def draw() -> Media:
        """Draw."""
        return Media(PNG, "image/png", name="../sales chart.png", description="Sales by month")

    result = ToolTester(draw).run()
    assert result.content == "[Attached image '_sales chart.png' (image/png, 28 bytes): Sales by month]"
    assert [one.data for one in result.media] == [PNG]


def test_text_and_files_go_together() -> None:
    @tool
    def report() -> ToolResult:
        """Report."""
        return ToolResult("Up by 4%.", media=(Media(b"a,b", "text/csv"), Media(PNG, "image/png")))

    result = ToolTester(report).run()
    assert result.content.splitlines()[0] == "Up by 4%."
    assert "file 'file.csv' (text/csv, 3 bytes)" in result.content
    assert [one.is_image for one in result.media] == [False, True]


@pytest.mark.parametrize(
    ("data", "kind", "sentence"),
    [
        (b"<svg/>", "image/svg+xml", "not allowed"),
        (b"<script>", "text/html", "not allowed"),
        (b"<html>", "image/png", "declared as image/png"),
        (b"", "text/plain", "1 to"),
        (b"x" * (MAX_BYTES + 1), "text/plain", "1 to"),
    ],
)
def test_a_file_that_is_not_allowed_is_an_error_to_the_model(data: bytes, kind: str, sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        Media(data, kind)


def test_too_many_files_are_refused() -> None:
    @tool
    def many() -> list[Media]:
        """Return many."""
        return [Media(b"x", "text/plain")] * (MAX_FILES + 1)

    with pytest.raises(ToolError, match="allowed are 8"):
        ToolTester(many).run()


def test_a_file_nested_in_other_values_is_refused() -> None:
    @tool
    def nested() -> dict[str, object]:
        """Nest."""
        return {"file": Media(b"x", "text/plain")}

    with pytest.raises(ToolError, match="cannot be shown"):
        ToolTester(nested).run()


@pytest.mark.parametrize(
    ("data", "told"), [("a text", "not str: a text is text.encode()"), (3, "not int"), (None, "not N")]
)
def test_what_are_no_bytes_is_an_error_of_the_program(data: Any, told: str) -> None:
    with pytest.raises(TypeError, match=f"The data of a Media are bytes, {told}"):
        Media(data, "text/plain")


def test_a_missing_type_names_what_a_file_takes() -> None:
    with pytest.raises(TypeError, match="Media takes data, media_type, name, description"):
        Media(b"a text")  # type: ignore[call-arg]

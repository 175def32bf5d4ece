"""docs/errors.md lists every code that the code can answer with, and no other."""

from __future__ import annotations

from assistant.api.errors import CODE_OF_STATUS, STATUS_OF_REFUSAL
from assistant.api.openai_shapes import CODES
from tests.docs.snippets import ROOT, codes, table
from tests.docs.test_facts import listed, literals

RUN_CODES = listed("### Codes of `RUN_ERROR`")
PROTOCOL_CODES = literals("_protocol_error", 0, "code")
HTTP_CODES = (
    literals("HttpRefusal", 1, "code") | set(CODE_OF_STATUS.values()) | set(STATUS_OF_REFUSAL) | set(CODES.values())
)


def rows() -> dict[str, str]:
    found = table(ROOT / "docs/errors.md", "## The codes")
    return {codes(row[0])[0]: row[1] for row in found}


def test_the_list_is_closed() -> None:
    assert set(rows()) == RUN_CODES | PROTOCOL_CODES | HTTP_CODES


def test_each_code_is_said_to_be_where_it_is() -> None:
    for code, where in rows().items():
        assert ("`RUN_ERROR`" in where) is (code in RUN_CODES), code
        assert ("`protocol_error`" in where) is (code in PROTOCOL_CODES), code
        assert not (code in HTTP_CODES and "HTTP" not in where), code

"""docs/errors.md lists exactly the error codes that the APIs use."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from assistant.api.attachments import STATUS_OF_FILE
from assistant.api.errors import CODE_OF_STATUS, STATUS_OF_REFUSAL
from assistant.contrib.later_results.api import STATUS as STATUS_OF_RESULT
from assistant.contrib.openai_api.api.shapes import STATUS_OF_ERROR
from assistant.contrib.openai_api.error_bodies import CODES
from assistant.contrib.openai_api.services.request_fields import ERROR_CODES
from assistant.services.errors import Failure
from tests.docs.snippets import ROOT, codes, table
from tests.docs.test_facts import calls, listed, literals, text_argument

RUN_CODES = listed("### Codes of `RUN_ERROR`")
# Functions that answer over HTTP: the first argument is the status, the second or `code` the error code.
ANSWERS = {"HttpRefusal", "error", "_error"}


def answered() -> Iterator[tuple[str, int]]:
    """Yield every code that is sent over HTTP with its status, from calls and tables in the code."""
    for name, call in calls("assistant"):
        first = call.args[0] if name in ANSWERS and call.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, int):
            for code in text_argument(call, 1, "code"):
                yield code, first.value
    yield from ((code, 400) for code in ERROR_CODES)
    yield from STATUS_OF_REFUSAL.items()
    yield from STATUS_OF_FILE.items()
    yield from STATUS_OF_RESULT.items()
    yield from ((code, status) for status, code in CODE_OF_STATUS.items())
    yield from ((CODES.get(code, code), status) for code, (status, _) in STATUS_OF_ERROR.items())
    yield from ((code, Failure(code, "").status) for code in literals("Failure", 0, "code"))


def protocol_codes() -> set[str]:
    return literals("_protocol_error", 0, "code")


def statuses() -> dict[str, set[int]]:
    found = defaultdict(set)
    for code, status in answered():
        found[code].add(status)
    for code, name in CODES.items():
        found[name] |= found[code]
    return found


def rows() -> dict[str, str]:
    found = table(ROOT / "docs/errors.md", "## Error codes")
    return {codes(row[0])[0]: row[1] for row in found}


def test_the_list_is_closed() -> None:
    assert set(rows()) == RUN_CODES | protocol_codes() | set(statuses())


def test_each_code_is_listed_with_its_interfaces_and_statuses() -> None:
    found, protocol = statuses(), protocol_codes()
    for code, where in rows().items():
        assert ("`RUN_ERROR`" in where) is (code in RUN_CODES), code
        assert ("`protocol_error`" in where) is (code in protocol), code
        assert {int(status) for status in re.findall(r"HTTP (\d+)", where)} == found.get(code, set()), code

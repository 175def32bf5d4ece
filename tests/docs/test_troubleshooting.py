"""The messages of docs/troubleshooting.md are those that the product says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.docs.snippets import ROOT

PAGE = (ROOT / "docs/troubleshooting.md").read_text()
# The first cells of the tables that are a message; those of Django and SQLite are theirs.
MESSAGES = re.findall(r"^\| `([^`]+)`", PAGE, re.MULTILINE)
OF_OTHERS = {"database table is locked"}


@cache
def sentences() -> list[re.Pattern[str]]:
    """Every text in the product's code, with anything in place of values."""
    return [pattern for path in (ROOT / "assistant").rglob("*.py") for pattern in _texts(ast.parse(path.read_text()))]


def _texts(tree: ast.AST) -> Iterator[re.Pattern[str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts: list[ast.expr] = [node]
        elif isinstance(node, ast.JoinedStr):
            parts = node.values
        else:
            continue
        literal = "".join(one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str))
        if len(literal) >= 12:
            yield re.compile(
                "".join(re.escape(str(one.value)) if isinstance(one, ast.Constant) else ".+" for one in parts)
            )


def test_the_page_has_messages() -> None:
    assert len(MESSAGES) >= 12


@pytest.mark.parametrize("message", sorted({*MESSAGES} - OF_OTHERS))
def test_a_message_is_said(message: str) -> None:
    assert any(pattern.match(message) for pattern in sentences())


def test_a_message_of_nobody_is_noticed() -> None:
    assert not any(pattern.match("The coffee is cold, so that nothing can be said.") for pattern in sentences())

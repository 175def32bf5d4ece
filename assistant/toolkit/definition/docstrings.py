"""Reads docstrings: the first paragraph, and the descriptions of parameters."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable
from typing import Any

import docstring_parser

from assistant.toolkit.definition.names import words_of

logger = logging.getLogger(__name__)

_from_names = False

# The first line of a section in the Google, NumPy and Sphinx styles; ends the paragraph without a blank line.
_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Params|Returns?|Yields?|Raises|Examples?|Notes?|Keyword Args)\s*:?\s*$|:\w+[^:]*:|@\w+"
)


def first_paragraph(function: Callable[..., Any]) -> str:
    """Return the first paragraph as one line; empty if there is none."""
    lines: list[str] = []
    for line in _doc(function).splitlines():
        if not line.strip() or _SECTION.match(line):
            break
        lines.append(line)
    return " ".join(" ".join(lines).split())


def describe_by_name(*, enabled: bool = True) -> None:
    """Let functions without a docstring be tools: their description is made of their name, with a warning in the log.

    It holds for tools that are made afterwards. The default is to refuse them, since models choose tools by their
    descriptions.
    """
    global _from_names  # noqa: PLW0603 - one switch of the process
    _from_names = enabled


def description_of(function: Callable[..., Any], name: str) -> str:
    """Return the description of a tool that is made from a function; empty if it has none, and none is made."""
    described = first_paragraph(function)
    if described or not _from_names:
        return described
    made = f"{words_of(name).capitalize()}."
    logger.warning("Tool %s has no docstring: the model reads only %r, which is made of its name", name, made)
    return made


def parameter_descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Return parameter descriptions by name; supports the Google, NumPy and Sphinx styles."""
    text = _doc(function)
    if "\n" not in text and not text.startswith((":", "@")):
        return {}
    try:
        found = docstring_parser.parse(text).params
    except docstring_parser.ParseError:
        return {}
    return {
        name.strip(): " ".join(item.description.split())
        for item in found
        if item.description
        for name in item.arg_name.split(",")
    }


def _doc(function: Callable[..., Any]) -> str:
    target = getattr(function, "func", function)  # a functools.partial has a docstring of its own
    if not inspect.isroutine(target) and not getattr(target, "__doc__", None) and not isinstance(target, type):
        target = type(target).__call__
    own = inspect.getdoc(target) or ""
    return own if own != object.__call__.__doc__ else ""

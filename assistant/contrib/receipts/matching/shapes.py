"""Shapes of results that say what objects say: columns with rows, rows below a header, and texts of lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

# Limits of a table: columns, characters of the name of one, and rows.
MAX_COLUMNS = 60
MAX_HEADING = 40
MAX_ROWS = 500
# Lines of a text by which it is decided whether it is a table.
MAX_LINES = 2_000
_COLUMNS = ("columns", "headers", "header", "fields")
_ROWS = ("rows", "data", "values")
_SEPARATORS = ";\t|,"
_FIELD = re.compile(r"([^\W\d][^:\n]{1,40}):[ \t]+(\S.{0,400})")


def with_named_columns(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object such as `{"columns": [...], "rows": [[...]]}` with its rows as objects; others as they are."""
    columns = next((key for key in _COLUMNS if _are_headings(value.get(key))), "")
    rows = next((key for key in _ROWS if columns and _are_rows(value.get(key), len(value[columns]))), "")
    if not rows:
        return value
    named = {key: other for key, other in value.items() if key != columns}
    return {**named, rows: _named(value[columns], value[rows])}


def with_header_named(value: list[Any]) -> list[Any]:
    """Return a list of rows as objects, if the first of them has the names of the others' columns."""
    if len(value) > 1 and _are_headings(value[0]) and _are_rows(value[1:], len(value[0])):
        return _named(value[0], value[1:])
    return value


def table_of(text: str) -> list[dict[str, str]]:
    """Return the rows of a text of lines with the same separators, by the names in the first; nothing of others."""
    lines = [line for line in islice(text.splitlines(), MAX_LINES) if line.strip()]
    for separator in _SEPARATORS if len(lines) > 1 else "":
        if separator not in lines[0]:
            continue
        if separator == "|":
            lines = [line.strip().strip("|") for line in lines if line.strip("|:- \t")]
        try:
            headings, *rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator)]
        except csv.Error:
            return []
        is_table = _are_headings(headings) and _are_rows(rows, len(headings))
        return _named(headings, rows) if is_table else []
    return []


def fields_of(text: str) -> dict[str, str]:
    """Return the fields of a text each of whose lines is one, such as "Due: 2026-03-02"; nothing of others."""
    lines = [line.strip(" \t*-•") for line in islice(text.splitlines(), MAX_LINES) if line.strip()]
    fields = [_FIELD.fullmatch(line) for line in lines]
    found = {one[1].strip(): one[2] for one in fields if one is not None}
    is_heading = bool(fields) and fields[0] is None and len(lines[0]) <= MAX_HEADING
    return found if 2 <= len(found) == len(lines) - is_heading else {}


def _are_headings(value: Any) -> bool:
    if not isinstance(value, list) or not 2 <= len(value) <= MAX_COLUMNS:
        return False
    are_names = all(isinstance(one, str) and 0 < len(one) <= MAX_HEADING and one[0].isalpha() for one in value)
    return are_names and len(set(value)) == len(value)


def _are_rows(value: Any, columns: int) -> bool:
    are_several = isinstance(value, list) and bool(value)
    return are_several and all(isinstance(row, list) and len(row) == columns for row in value)


def _named(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(headings, row, strict=True)) for row in rows[:MAX_ROWS]]

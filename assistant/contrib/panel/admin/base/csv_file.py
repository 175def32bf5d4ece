"""Tables as CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

from django.http import HttpResponse

# Spreadsheets run texts that begin with these as formulas.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def csv_response(name: str, head: Sequence[object], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """Return a file `name`.csv, in UTF-8 with a byte order mark, which spreadsheets need."""
    response = HttpResponse("\ufeff", content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    writer = csv.writer(response)
    writer.writerow([_cell(value) for value in head])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return response


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value

"""All rows that a call of `find` chose, as CSV: by the same conditions, with the member's rights of now."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assistant.contrib.data.services.plans import Plan
from assistant.contrib.data.services.reading import check_cost, reading
from assistant.contrib.data.services.rows import MAX_SHOWN, RowTexts, loaded, narrowing_hint, order_of, row_values
from assistant.contrib.data.services.selecting import selected
from assistant.contrib.data.services.shown_results import shown_choice
from assistant.contrib.data.services.visible_rows import permitted, visible_rows
from assistant.toolkit import ToolContext

MAX_ROWS = 10_000
# Of models whose rows are asked for one by one.
MAX_ASKED = 200
# Spreadsheets take a cell that begins so for a formula, but not a number.
# Source: https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = re.compile(r"^[\s]*[=+\-@\t\r|]")
_NUMBER = re.compile(r"^[+-]?\d+(\.\d+)?$")


@dataclass(frozen=True, slots=True)
class CsvRows:
    """A table as CSV with a header, how many rows it has, and how many there are."""

    text: str
    count: int
    in_all: int


def csv_rows(plan: Plan, arguments: Mapping[str, Any], context: ToolContext) -> CsvRows:
    """Return the rows that a call chooses, not only those of its page.

    Raises:
        ToolError: it takes too long, or the project's own rule cannot be asked.
    """
    hint = narrowing_hint(plan)
    most = MAX_ASKED if plan.uses_object_permissions else MAX_ROWS
    with reading(hint):
        chosen = selected(visible_rows(plan, context), plan, arguments, context)
        rows = loaded(chosen, plan, context).order_by(*order_of(plan, arguments.get("order_by"), context))[:most]
        check_cost(rows, hint)
        found = permitted(plan, context, list(rows))
        in_all = len(found) if len(found) < most or plan.uses_object_permissions else chosen.count()
    columns = [column for column in plan.columns if not (column.field.primary_key and column.is_own)]
    texts = RowTexts(plan)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([cell(value) for value in ("id", "label", *(column.title for column in columns))])
    for row in found:
        values = row_values(plan, row, texts, context, MAX_SHOWN)
        own = (shown_choice(column, values[column.name]) for column in columns)
        writer.writerow([cell(value) for value in (values["id"], values["label"], *own)])
    return CsvRows(out.getvalue(), len(found), in_all)


def cell(value: Any) -> Any:
    """Return a value for a cell: a text that a spreadsheet would compute begins with an apostrophe."""
    if not isinstance(value, str):
        return "" if value is None else value
    return f"'{value}" if _FORMULA.match(value) and not _NUMBER.match(value) else value

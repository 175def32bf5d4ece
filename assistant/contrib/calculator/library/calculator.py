"""The calculator tool: exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_lazy as _

from assistant.contrib.calculator.arithmetic import ExpressionError, format_number
from assistant.contrib.calculator.expressions import evaluate
from assistant.toolkit import Example, Param, ToolError, tool


@dataclass(frozen=True, slots=True)
class Calculation:
    """The `result` in decimal digits; `exact` is false if it was rounded."""

    expression: str
    result: str
    exact: bool


@tool(
    title=_("Calculate"),
    read_only=True,
    idempotent=True,
    enabled_by_default=True,
    examples=[
        Example(
            "what is 7.5% of 90004?",
            {"expression": "7.5% of 90004"},
            result='{"expression":"7.5% of 90004","result":"6750.3","exact":true}',
            answer="7.5% of 90004 is 6750.3.",
        )
    ],
)
def calculate(
    expression: Annotated[
        str,
        Param(
            "Like 7.5% of 1240 or (3 + 4) * 2. Operators: + - * / // % **. Functions: sqrt, round, min, max, abs.",
            min_length=1,
        ),
    ],
) -> Calculation:
    """Work out arithmetic exactly: sums, products, powers, roots, percentages."""
    try:
        result, exact = format_number(evaluate(expression))
    except ExpressionError as exc:
        raise ToolError(f"{exc}.".replace("..", ".")) from exc
    return Calculation(expression, result, exact)

"""The calculator: exact results, accepted notations, errors and limits."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.contrib.calculator.arithmetic import ExpressionError, format_number
from assistant.contrib.calculator.expressions import evaluate
from assistant.contrib.calculator.library.calculator import calculate
from assistant.toolkit import ToolError
from tests.library.calling import call


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("12.5% of 840", "105"),
        ("15% off 329 euros", "279.65"),
        ("€329 - 15% ", "279.65"),
        ("$5 + 3 dollars", "8"),
        ("0.1 + 0.2", "0.3"),
        ("1/3 * 3", "1"),
        ("-2 ** 2", "-4"),
        ("2 ** -3", "0.125"),
        ("2 ** 3 ** 2", "512"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("10 % 3", "1"),
        ("10%3", "1"),
        ("-7 mod 3", "2"),
        ("2**100", "1267650600228229401496703205376"),
        ("(1 + 2) * [3 + 4]", "21"),
        ("1,234.56 * 2", "2469.12"),
        ("1_000 + 1'000", "2000"),
        ("3 × 4 ÷ 2 − 1", "5"),
        ("3 x 4", "12"),
        ("2^10 =", "1024"),
        ("sqrt(1.44)", "1.2"),
        ("√16 + 1", "5"),
        ("round(2.345, 2)", "2.35"),
        ("round(-2.5)", "-3"),
        ("max(1, 2.5, 2)", "2.5"),
        ("min(abs(-3), 7)", "3"),
        (".5 + 1.", "1.5"),
        ("1e3 - 1E-1", "999.9"),
        ("-+-5", "5"),
    ],
)
def test_results_are_exact(expression: str, result: str) -> None:
    assert call(calculate, expression=expression) == {"expression": expression, "result": result, "exact": True}


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("840 + 12.5%", "945"),
        ("840 - 10%", "756"),
        ("50% + 50%", "1"),
        ("20% of 50 + 3", "13"),
        ("200 * 15%", "30"),
        ("(5 + 5)%", "0.1"),
        ("10% - 3", "-2.9"),
        ("10 % -3", "-2"),
    ],
)
def test_percentages_work_as_on_a_pocket_calculator(expression: str, result: str) -> None:
    assert call(calculate, expression=expression)["result"] == result


def test_endless_digits_are_rounded_and_it_says_so() -> None:
    assert call(calculate, expression="2 / 3") == {
        "expression": "2 / 3",
        "result": "0.6666666666666666666666666667",
        "exact": False,
    }


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("1 / (2 - 2)", "Division by zero (at character 3)."),
        ("2 +", "The expression ends where a number should follow (at character 4)."),
        ("(1 + 2", "A closing ')' is missing for the one opened at character 1 (at character 7)."),
        ("12,5 + 1", "Unexpected ','; write decimals with a point, as in 12.5 (at character 3)."),
        ("5 §", "Unexpected '§' (at character 3)."),
        ("5 EUR + 3 $", "Amounts in several currencies cannot be combined."),
        ("3 off 10", "A percentage is expected before 'off', as in 15% off 329 (at character 3)."),
        ("sin(1)", "Unknown name 'sin'; the functions are sqrt, round, min, max, abs (at character 1)."),
        ("max(1,234)", "'1,234' may be one number or several; write it without commas, or a space after each"),
        ("sqrt(-1)", "A negative number has no square root (at character 1)."),
        ("9**9**9**9", "The number is too large"),
        ("2**99999999999999", "The number is too large"),
        ("1e999999999", "The number is too large"),
        ("(" * 60 + "1" + ")" * 60, "Nested deeper than 50 levels"),
        ("1+" * 300 + "1", "The expression is longer than 500 characters."),
        ("__import__('os')", "Unexpected '_' (at character 1)."),
        (" ", "The expression is empty."),
    ],
)
def test_errors_name_the_position(expression: str, problem: str) -> None:
    with pytest.raises(ToolError) as caught:
        call(calculate, expression=expression)
    assert str(caught.value).startswith(problem)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="0123456789.,+-*/%^()e xofmdsqrtabinu√'=", max_size=60))
def test_any_text_is_evaluated_or_refused(text: str) -> None:
    try:
        digits, _ = format_number(evaluate(text))
    except ExpressionError:
        return
    assert digits.lstrip("-").replace(".", "", 1).isdigit()

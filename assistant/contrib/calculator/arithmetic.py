"""Exact numbers for the calculator: fractions of bounded size, functions on them, and their format."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction

# Size of a numerator or denominator, about 1,200 decimal digits.
MAX_BITS = 4096
# Significant digits of results without a finite decimal form, such as 1/3 or sqrt(2).
PRECISION_DIGITS = 28


class ExpressionError(ValueError):
    """The expression is not valid; the message says why and where, and can be shown to the user."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message if position is None else f"{message} (at character {position + 1})")


@dataclass(frozen=True, slots=True)
class Number:
    """A value.

    Attributes:
        exact: False if a root or a fractional power was rounded to compute it.
        is_percent: whether it was written with a percent sign; `value` is then already divided by 100.
    """

    value: Fraction
    exact: bool = True
    is_percent: bool = False


def bounded(value: Fraction, exact: bool, position: int, is_percent: bool = False) -> Number:
    """Return a number. Raises `ExpressionError`, which names `position`, if it needs more than `MAX_BITS`."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise ExpressionError("The number is too large", position)
    return Number(value, exact, is_percent)


def power(base: Number, exponent: Number, position: int) -> Number:
    """Return a power, exact for whole exponents. Raises `ExpressionError` if it is undefined or too large."""
    if base.value == 0 and exponent.value < 0:
        raise ExpressionError("Division by zero", position)
    size = max(base.value.numerator.bit_length(), base.value.denominator.bit_length())
    if abs(base.value) != 1 and size * abs(exponent.value) > MAX_BITS:
        raise ExpressionError("The number is too large", position)
    if exponent.value.denominator == 1:
        return bounded(base.value ** int(exponent.value), base.exact and exponent.exact, position)
    if base.value < 0:
        raise ExpressionError("A negative number has no such power", position)
    if exponent.value == Fraction(1, 2):
        return square_root([base], position)
    with localcontext(prec=PRECISION_DIGITS * 2):
        root = _decimal(base.value) ** _decimal(exponent.value)
    return bounded(Fraction(root), False, position)


def square_root(numbers: Sequence[Number], position: int) -> Number:
    """Return the square root of one number, exact if it is rational. Raises `ExpressionError`."""
    number = _single("sqrt", numbers, position)
    if number.value < 0:
        raise ExpressionError("A negative number has no square root", position)
    root = Fraction(math.isqrt(number.value.numerator), math.isqrt(number.value.denominator))
    if root * root == number.value:
        return Number(root, number.exact)
    with localcontext(prec=PRECISION_DIGITS * 2):
        return Number(Fraction(_decimal(number.value).sqrt()), exact=False)


def _round(numbers: Sequence[Number], position: int) -> Number:
    if len(numbers) > 2:
        raise ExpressionError("round takes a number and how many decimals", position)
    places = numbers[1].value if len(numbers) == 2 else Fraction(0)
    if places.denominator != 1 or abs(places) > 100:
        raise ExpressionError("round takes a whole number of decimals, 100 at most", position)
    scale = Fraction(10) ** int(places)
    # Half away from zero, as is usual for amounts of money.
    rounded = math.floor(abs(numbers[0].value) * scale + Fraction(1, 2)) / scale
    return Number(-rounded if numbers[0].value < 0 else rounded, numbers[0].exact)


def _single(name: str, numbers: Sequence[Number], position: int) -> Number:
    if len(numbers) != 1:
        raise ExpressionError(f"{name} takes one number", position)
    return numbers[0]


def _absolute(numbers: Sequence[Number], position: int) -> Number:
    number = _single("abs", numbers, position)
    return Number(abs(number.value), number.exact)


def _smallest(numbers: Sequence[Number], position: int) -> Number:
    return Number(min(number.value for number in numbers), all(number.exact for number in numbers))


def _largest(numbers: Sequence[Number], position: int) -> Number:
    return Number(max(number.value for number in numbers), all(number.exact for number in numbers))


FUNCTIONS: dict[str, Callable[[Sequence[Number], int], Number]] = {
    "sqrt": square_root,
    "round": _round,
    "min": _smallest,
    "max": _largest,
    "abs": _absolute,
}
# Operators with the precedence of a product.
PRODUCTS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "*": lambda left, right: left * right,
    "of": lambda left, right: left * right,
    "off": lambda left, right: right - left * right,
    "/": lambda left, right: left / right,
    "//": lambda left, right: Fraction(left // right),
    "%": lambda left, right: left % right,
    "mod": lambda left, right: left % right,
}


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def format_number(number: Number) -> tuple[str, bool]:
    """Return a number in decimal digits, and whether they are exact."""
    value = number.value
    twos = (value.denominator & -value.denominator).bit_length() - 1
    fives = 0
    rest = value.denominator >> twos
    while rest % 5 == 0:
        fives = fives + 1
        rest = rest // 5
    ends = number.exact and rest == 1
    with localcontext(prec=MAX_BITS if ends else PRECISION_DIGITS, rounding=ROUND_HALF_UP):
        text = f"{_decimal(value):f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text), ends

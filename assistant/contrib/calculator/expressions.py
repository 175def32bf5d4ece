"""A recursive descent parser that evaluates arithmetic over exact fractions, bounded in length and depth."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from assistant.contrib.calculator.arithmetic import (
    FUNCTIONS,
    MAX_BITS,
    PRODUCTS,
    ExpressionError,
    Number,
    bounded,
    power,
    square_root,
)

MAX_LENGTH = 500
MAX_DEPTH = 50

_NUMBER = r"\d+(?:[,_']\d{3}(?!\d))*(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(rf"\s*(?:(?P<number>{_NUMBER})|(?P<name>[^\W\d_]+)|(?P<sign>\*\*|//|[-+*/%^(),=√]))")
_GROUPED = re.compile(r"\d{1,3}([,_'])\d{3}(?:\1\d{3})*(?:\.\d*)?")
_PLAIN = re.compile(r"[\d.]+(?:[eE][+-]?\d+)?")
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "[": "(", "]": ")"})
_WORDS = {"x": "*", "mod": "mod", "of": "of", "off": "off"}
_CURRENCY = re.compile(r"[€$£¥]|\b(?:eur(?:os?)?|usd|dollars?|gbp|pounds?|chf|francs?)\b", re.IGNORECASE)
_CODES = {"€": "eur", "$": "usd", "£": "gbp", "¥": "jpy", "dol": "usd", "pou": "gbp", "fra": "chf"}


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    position: int
    follows_space: bool


def evaluate(expression: str) -> Number:
    """Evaluate an expression of + - * / // % ** ^, parentheses, percentages and the functions in `FUNCTIONS`.

    "12.5% of 840" is 105, "15% off 329 euros" is 279.65, and "840 + 10%" is 924 as on a pocket calculator. "%" before
    another number is the remainder. The name of a currency is ignored if there is only one.

    Raises:
        ExpressionError: the expression is not valid, has no value, or is too large.
    """
    if len(expression) > MAX_LENGTH:
        raise ExpressionError(f"The expression is longer than {MAX_LENGTH} characters.")
    return _Parser(_tokens(_without_currency(expression).translate(_SIGNS).rstrip().removesuffix("="))).parse()


def _without_currency(text: str) -> str:
    names = [found.lower()[:3] for found in _CURRENCY.findall(text)]
    if len({_CODES.get(name, name) for name in names}) > 1:
        raise ExpressionError("Amounts in several currencies cannot be combined.")
    return _CURRENCY.sub(lambda found: " " * len(found[0]), text)


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        if match is None:
            start = len(text) - len(text[position:].lstrip())
            raise ExpressionError(f"Unexpected {text[start]!r}", start)
        kind = match.lastgroup or ""
        start = match.start(kind)
        found = match.group(kind).lower() if kind == "name" else match.group(kind)
        kind, found = ("sign", _WORDS[found]) if found in _WORDS else (kind, found)
        tokens.append(Token(kind, found, start, start > position))
        position = match.end()
    return [*tokens, Token("end", "", len(text), True)]


class _Parser:
    """A recursive descent parser; from the lowest precedence: sum, product, unary, power, percent, atom."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._index = 0
        self._depth = 0
        self._in_call = 0

    def parse(self) -> Number:
        if self._next.kind == "end":
            raise ExpressionError("The expression is empty.")
        number = self._sum()
        if self._next.text == ",":
            raise ExpressionError("Unexpected ','; write decimals with a point, as in 12.5", self._next.position)
        if self._next.kind != "end":
            raise ExpressionError(f"Unexpected {self._next.text!r}", self._next.position)
        return number

    @property
    def _next(self) -> Token:
        return self._tokens[self._index]

    def _take(self, *texts: str) -> Token | None:
        token = self._next
        if token.kind != "sign" or token.text not in texts:
            return None
        self._index += 1
        return token

    def _sum(self) -> Number:
        left = self._product()
        while sign := self._take("+", "-"):
            right = self._product()
            # "840 + 10%" means ten percent of the 840.
            share = right.value * left.value if right.is_percent and not left.is_percent else right.value
            value = left.value + share if sign.text == "+" else left.value - share
            left = bounded(value, left.exact and right.exact, sign.position, left.is_percent and right.is_percent)
        return left

    def _product(self) -> Number:
        left = self._unary()
        while sign := self._take("*", "/", "//", "%", "mod", "of", "off"):
            right = self._unary()
            if sign.text == "off" and not left.is_percent:
                raise ExpressionError("A percentage is expected before 'off', as in 15% off 329", sign.position)
            if sign.text in {"/", "//", "%", "mod"} and right.value == 0:
                raise ExpressionError("Division by zero", sign.position)
            left = bounded(PRODUCTS[sign.text](left.value, right.value), left.exact and right.exact, sign.position)
        return left

    def _unary(self) -> Number:
        if sign := self._take("+", "-"):
            number = self._nested(self._unary, sign)
            return Number(-number.value, number.exact, number.is_percent) if sign.text == "-" else number
        return self._power()

    def _power(self) -> Number:
        base = self._percent()
        if sign := self._take("**", "^"):
            return power(base, self._nested(self._unary, sign), sign.position)
        return base

    def _percent(self) -> Number:
        number = self._atom()
        while self._next.text == "%" and self._is_percent():
            self._index += 1
            number = Number(number.value / 100, number.exact, is_percent=True)
        return number

    def _is_percent(self) -> bool:
        """Return whether the next "%" is a percent sign and not the remainder operator."""
        sign = self._tokens[self._index]
        after = self._tokens[self._index + 1]
        if after.kind in {"number", "name"} or after.text in {"(", "√"}:
            return False
        return after.text not in {"+", "-"} or not sign.follows_space

    def _atom(self) -> Number:
        token = self._next
        self._index += 1
        if token.kind == "number":
            return _literal(token, in_call=self._in_call > 0)
        if token.kind == "name":
            return self._call(token)
        if token.text == "√":
            return square_root([self._nested(self._atom, token)], token.position)
        if token.text == "(":
            in_call = self._in_call
            self._in_call = 0
            number = self._nested(self._sum, token)
            self._in_call = in_call
            self._close(token)
            return Number(number.value, number.exact)
        if token.kind == "end":
            raise ExpressionError("The expression ends where a number should follow", token.position)
        raise ExpressionError(f"Expected a number, not {token.text!r}", token.position)

    def _call(self, name: Token) -> Number:
        function = FUNCTIONS.get(name.text)
        if function is None:
            known = ", ".join(FUNCTIONS)
            raise ExpressionError(f"Unknown name {name.text!r}; the functions are {known}", name.position)
        if self._take("(") is None:
            raise ExpressionError(f"Expected '(' after {name.text!r}", self._next.position)
        self._in_call += 1
        arguments = [self._nested(self._sum, name)]
        while self._take(","):
            arguments.append(self._nested(self._sum, name))
        self._in_call -= 1
        self._close(name)
        return function(arguments, name.position)

    def _close(self, opened: Token) -> None:
        if self._take(")") is None:
            where = f"the one opened at character {opened.position + 1}"
            raise ExpressionError(f"A closing ')' is missing for {where}", self._next.position)

    def _nested(self, parse: Callable[[], Number], token: Token) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(f"Nested deeper than {MAX_DEPTH} levels", token.position)
        number = parse()
        self._depth -= 1
        return number


def _literal(token: Token, *, in_call: bool) -> Number:
    text = token.text
    grouped = _GROUPED.fullmatch(text)
    if grouped and in_call and grouped[1] == ",":
        raise ExpressionError(
            f"{text!r} may be one number or several; write it without commas, or a space after each", token.position
        )
    if not grouped and not _PLAIN.fullmatch(text):
        raise ExpressionError(f"{text!r} is not a number; write decimals with a point, as in 12.5", token.position)
    digits, _, exponent = re.sub(r"[,_']", "", text).lower().partition("e")
    if exponent and abs(int(exponent)) > MAX_BITS // 3:
        raise ExpressionError("The number is too large", token.position)
    return bounded(Fraction(f"{digits.rstrip('.')}e{exponent or 0}"), True, token.position)

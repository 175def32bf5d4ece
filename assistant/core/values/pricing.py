"""What tokens cost: prices of a million of them, by model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from assistant.core.values.messages import Usage

# Costs are whole numbers of millionths: a price for a million tokens is so many millionths for one.
MILLIONTHS = 1_000_000
_NAMES = frozenset({"input", "output", "cached_input"})


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost; cached input costs as much as other input unless it has a price of its own."""

    input: float
    output: float
    cached_input: float | None = None

    def of(self, usage: Usage) -> int:
        """What these tokens cost, in millionths, rounded up."""
        cached = min(usage.cached_input_tokens, usage.input_tokens)
        cheap = self.input if self.cached_input is None else self.cached_input
        return math.ceil(
            (usage.input_tokens - cached) * self.input + cached * cheap + usage.output_tokens * self.output
        )


class Prices:
    """The prices of a provider's models.

    Args:
        prices: by a model's name or its beginning (providers answer with dated names), of which the longest counts.
    """

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = sorted(prices.items(), key=lambda item: -len(item[0]))

    def priced(self, usage: Usage, *models: str) -> Usage:
        """The usage with what it cost; as it is where no price is known.

        Args:
            models: the names the model goes by, of which the first that has a price counts: the one that the provider
                answered with, which can be one of its own that nobody has heard of, and the one that was asked for.
        """
        for model in models:
            for name, price in self._prices:
                if model.startswith(name):
                    return replace(usage, cost=price.of(usage))
        return usage


NO_PRICES = Prices({})


def read_prices(value: object) -> Prices:
    """Prices from JSON: `{"gpt-4.1": {"input": 2, "output": 8, "cached_input": 0.5}}`.

    Raises:
        ValueError: with what is wrong with them.
    """
    if not isinstance(value, Mapping):
        raise ValueError('prices are an object such as {"gpt-4.1": {"input": 2, "output": 8}}')
    return Prices({str(model): _price(str(model), one) for model, one in value.items()})


def _price(model: str, value: Any) -> Price:
    if not isinstance(value, Mapping) or not {"input", "output"} <= set(value) <= _NAMES:
        raise ValueError(f"the price of {model!r} needs input and output, and may have cached_input")
    for name, number in value.items():
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not is_number or not 0 <= number <= MILLIONTHS:
            raise ValueError(f"{name} of {model!r} is no price")
    return Price(**value)

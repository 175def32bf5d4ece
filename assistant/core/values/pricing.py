"""Prices of a million tokens, by model, and what usage costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from assistant.core.values.messages import Usage

# Costs are integers in millionths of a currency unit, so the price of a million tokens is the cost of one token.
MILLIONTHS = 1_000_000
_NAMES = frozenset({"input", "output", "cached_input", "cache_write"})
# What providers charge for input that they write to a cache, compared with other input.
# Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching
CACHE_WRITE_FACTOR = 1.25


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens.

    Without prices of their own cached input costs as much as other input, and input that is written to a cache
    `CACHE_WRITE_FACTOR` times as much.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None

    def of(self, usage: Usage) -> int:
        """Return the cost of these tokens in millionths, rounded up."""
        cached = min(usage.cached_input_tokens, usage.input_tokens)
        written = min(usage.cache_write_tokens, usage.input_tokens - cached)
        cached_price = self.input if self.cached_input is None else self.cached_input
        write_price = self.input * CACHE_WRITE_FACTOR if self.cache_write is None else self.cache_write
        return math.ceil(
            (usage.input_tokens - cached - written) * self.input
            + cached * cached_price
            + written * write_price
            + usage.output_tokens * self.output
        )


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """The price of a model, named by the beginning of its name, from a day in UTC on."""

    model: str
    price: Price
    since: date = date.min


class Prices:
    """The prices of a provider's models.

    Args:
        prices: by the model's name or a prefix of it, since providers answer with dated names; the longest match is
            used.
        before: groups of dated prices that are used before those, if there is one for the model; in each the longest
            match, and of those for the same name the latest that holds.
        after: the same, used where neither has a price.
    """

    def __init__(
        self,
        prices: Mapping[str, Price],
        *,
        before: Iterable[Sequence[ListedPrice]] = (),
        after: Iterable[Sequence[ListedPrice]] = (),
    ) -> None:
        undated = [ListedPrice(model, price) for model, price in prices.items()]
        groups = (*before, undated, *after)
        self._groups = [sorted(group, key=lambda one: (-len(one.model), -one.since.toordinal())) for group in groups]

    def priced(self, usage: Usage, *models: str, on: date | None = None) -> Usage:
        """Return the usage with its cost; unchanged where no price is known.

        Args:
            models: names of the model; the first that has a price is used. Pass the name in the provider's answer,
                then the requested one, in case the first is unknown.
            on: the day in UTC whose prices hold; None for today.
        """
        day: date | None = on
        for model in models:
            for group in self._groups:
                for listed in group:
                    if model.startswith(listed.model):
                        day = day or datetime.now(UTC).date()
                        if listed.since <= day:
                            return replace(usage, cost=listed.price.of(usage))
        return usage


NO_PRICES = Prices({})


def read_prices(
    value: object,
    *,
    before: Iterable[Sequence[ListedPrice]] = (),
    after: Iterable[Sequence[ListedPrice]] = (),
) -> Prices:
    """Read prices from JSON: `{"gpt-4.1": {"input": 2, "output": 8, "cached_input": 0.5}}`.

    Args:
        before: as for `Prices`, and so `after`.

    Raises:
        ValueError: they are not valid; the text says why.
    """
    if not isinstance(value, Mapping):
        raise ValueError('prices are an object such as {"gpt-4.1": {"input": 2, "output": 8}}')
    prices = {str(model): _price(str(model), one) for model, one in value.items()}
    return Prices(prices, before=before, after=after)


def _price(model: str, value: Any) -> Price:
    if not isinstance(value, Mapping) or not {"input", "output"} <= set(value) <= _NAMES:
        raise ValueError(f"the price of {model!r} needs input and output, and may have cached_input and cache_write")
    for name, number in value.items():
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not is_number or not 0 <= number <= MILLIONTHS:
            raise ValueError(f"{name} of {model!r} is no price")
    return Price(**value)

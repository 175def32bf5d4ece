"""The Django app of the price list."""

from __future__ import annotations

from assistant.optional_apps import OptionalApp


class PriceListConfig(OptionalApp):
    name = "assistant.contrib.price_list"
    label = "assistant_price_list"
    verbose_name = "Assistant: price list"

    def register(self) -> None:
        from assistant.contrib.price_list.column import COLUMN, price_column
        from assistant.services.assistants.additions import ANNOTATIONS, price_with

        ANNOTATIONS[COLUMN] = price_column()
        price_with("assistant.contrib.price_list.listed_prices.listed_prices")

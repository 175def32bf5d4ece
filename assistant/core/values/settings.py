"""The settings of an assistant that apply to each of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assistant.core.values.limits import Limits
from assistant.core.values.pricing import NO_PRICES, Prices
from assistant.toolkit.definition.failures import OnError


@dataclass(frozen=True, slots=True)
class AssistantSettings:
    """What an assistant's configuration determines for each of its runs.

    A new setting is a field here, a column and its admin field, a line in
    `services.assistants.configuration.settings_of`, which reads the row, and the line that uses it.

    Attributes:
        limits: how much one run may use.
        options: sent to the provider as they are, such as `temperature`.
        history_tokens: how many tokens of the conversation are sent to the model, as estimated; 0 for all.
        history_messages: how many messages of it are sent, without the system prompt; 0 for all.
        answer_schema: JSON Schema of the answer; None for a text.
        on_error: `"raise"` ends the run when a tool fails unexpectedly, `"model"` reports the failure to the model; a
            program can give a function of the exception, or a mapping of exception classes to all these.
        prices: what the provider's tokens cost.
    """

    limits: Limits = field(default_factory=Limits)
    options: Mapping[str, Any] = field(default_factory=dict)
    history_tokens: int = 0
    history_messages: int = 0
    answer_schema: Mapping[str, Any] | None = None
    on_error: OnError = "model"
    prices: Prices = NO_PRICES

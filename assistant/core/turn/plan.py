"""The input of a turn, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.core.extensions.extension import Extension
from assistant.core.llm.protocol import Model
from assistant.core.toolcalls.call_settings import USUAL, CallSettings
from assistant.core.toolcalls.protocols import Decision, Journal, NullJournal, Toolset
from assistant.core.values.limits import Allowance
from assistant.core.values.messages import Message
from assistant.core.values.pricing import NO_PRICES, Prices
from assistant.core.values.settings import AssistantSettings
from assistant.toolkit import Tool, ToolContext


@dataclass(frozen=True, slots=True)
class Fallback:
    """A model that takes over when the one before it cannot answer, with what its tokens cost."""

    model: Model
    prices: Prices = NO_PRICES


@dataclass(frozen=True, slots=True)
class Plan:
    """The input of a turn: the conversation, the model, the tools and the settings.

    Attributes:
        messages: the conversation so far, the system prompt first.
        settings: the assistant's settings, except `answer_schema`: a `TypedAnswer` among the extensions is of it.
        allowances: what is left of quotas that the run shares with other runs.
        client_tools: offered to the model and run by the client.
        decisions: a person's decisions, by call id, on the calls of the last assistant message that wait for approval.
        calls: how its tools are called.
        fallbacks: models that take over, in this order, when the one before cannot answer: it is too busy, too slow, or
            fails on its side, before anything was shown.
        extensions: those that act in the turn, in their order.
        spent_seconds: what making the plan has taken of the time limit.
    """

    model: Model
    messages: Sequence[Message]
    toolset: Toolset
    context: ToolContext = field(default_factory=ToolContext)
    settings: AssistantSettings = field(default_factory=AssistantSettings)
    allowances: tuple[Allowance, ...] = ()
    client_tools: Sequence[Tool] = ()
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    journal: Journal = field(default_factory=NullJournal)
    thread_id: str = ""
    run_id: str = ""
    calls: CallSettings = USUAL
    fallbacks: tuple[Fallback, ...] = ()
    extensions: tuple[Extension[Any], ...] = ()
    spent_seconds: float = 0.0

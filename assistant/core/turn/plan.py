"""Everything a turn needs to know beforehand, as one frozen value."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assistant.core.llm.protocol import Model
from assistant.core.llm.typed_output import Mode, OutputType
from assistant.core.toolcalls.interceptors import ToolInterceptor
from assistant.core.toolcalls.protocols import Decision, Journal, NullJournal, Toolset
from assistant.core.values.events import PROTOCOL_VERSION
from assistant.core.values.limits import Allowance, Limits
from assistant.core.values.messages import Message
from assistant.core.values.pricing import NO_PRICES, Prices
from assistant.toolkit import Tool, ToolContext


def new_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a turn needs.

    `messages` is the conversation so far, the system prompt first. `decisions` answer calls of its last assistant
    message that wait for approval, by call id. `history_tokens` is how much of the conversation the model is sent, as
    estimated, and `history_messages` how many messages of it, without the system prompt; 0 for all of it.
    `client_tools` are offered but not run here; with `execute_tools` false none is.
    `keep_call_ids` takes the provider's ids of calls where they are new to `messages`, which must then be the whole
    thread: many providers count from 0 in every answer. Else all are of our own making.
    `output` is what the answer has to be, asked for by `output_mode` or a plainer one. `can_ask` is whether a person
    can be asked for an approval, and `approval_seconds` how long the answer may take (0: any time). `interceptors`
    stand around every tool call. With `on_error="raise"` an unexpected failure of any tool ends the run. `prices` are
    those of the model. `observe` makes of the model of an assistant that a tool asks the one that is asked.
    """

    model: Model
    messages: Sequence[Message]
    toolset: Toolset
    context: ToolContext = field(default_factory=ToolContext)
    limits: Limits = field(default_factory=Limits)
    allowances: tuple[Allowance, ...] = ()
    prices: Prices = NO_PRICES
    options: Mapping[str, Any] = field(default_factory=dict)
    client_tools: Sequence[Tool] = ()
    execute_tools: bool = True
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    journal: Journal = field(default_factory=NullJournal)
    thread_id: str = ""
    run_id: str = ""
    protocol_version: str | None = PROTOCOL_VERSION
    new_id: Callable[[], str] = new_id
    parallel: int = 8
    default_timeout: float = 30.0
    history_tokens: int = 0
    history_messages: int = 0
    tool_choice: str | None = None
    response_format: Mapping[str, Any] | None = None
    output: OutputType[Any] | None = None
    output_mode: Mode = "native"
    keep_call_ids: bool = False
    can_ask: bool = True
    approval_seconds: float = 0.0
    interceptors: tuple[ToolInterceptor, ...] = ()
    on_error: Literal["model", "raise"] = "model"
    observe: Callable[[Model], Model] | None = None

"""Estimates what a run will use, for what is reserved of quotas when it begins."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.core.values.history_window import estimate, estimate_tokens
from assistant.core.values.messages import Message, Usage
from assistant.models import Assistant
from assistant.services.limits.quota_ledger import EXPECTED_OUTPUT_TOKENS, Estimate
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.runs.opening.sent_files import estimate_files

UNCOUNTED = Estimate(0, 0, 0)


def estimate_of_run(assistant: Assistant, setup: RunSetup, history: Sequence[Message], messages: int) -> Estimate:
    """Return what a run will use: the conversation that the model is sent, one answer, and `messages`."""
    input_tokens = sum(map(estimate, history)) + estimate_files(setup, history)
    if assistant.history_tokens:
        input_tokens = min(input_tokens, assistant.history_tokens)
    usage = Usage(input_tokens + estimate_tokens(setup.system_prompt), EXPECTED_OUTPUT_TOKENS)
    choice = setup.provider
    return Estimate(messages, usage.total_tokens, choice.prices.priced(usage, choice.model).cost)

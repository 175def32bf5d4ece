"""How an answer of chat completions ends: the names of its reasons, and the sentences of its failures."""

from __future__ import annotations

from assistant.core.values.messages import FinishReason
from assistant.toolkit.translation import gettext_noop

# Providers' names of the finish reasons; with any other reason the answer may be incomplete.
REASONS: dict[str, FinishReason] = {
    **dict.fromkeys(("stop", "end_turn", "eos", "eos_token", "stop_sequence", "complete", "completed"), "stop"),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use", "tool_call"), "tool_calls"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "length"),
    **dict.fromkeys(("content_filter", "safety", "sensitive", "recitation"), "content_filter"),
    "refusal": "refusal",
}
# Reasons for an incomplete answer; a later reason does not replace these.
CUTS = {"length", "content_filter", "refusal"}

EMPTY = gettext_noop("The provider sent an empty answer.")
CUT = gettext_noop("The provider's answer broke off before its end.")
CALL_CUT = gettext_noop("The answer ended in the middle of a tool call, which was not run.")
CALL_REFUSED = gettext_noop("The model refused to continue after a tool call, which was not run.")
CONTRADICTED = gettext_noop("The provider ended the answer with another text than it had sent.")
NO_CALL = gettext_noop("The model announced a tool call and sent none.")

"""How an answer of chat completions ends: the names of its reasons, and the sentences of its failures."""

from __future__ import annotations

from assistant.core.llm.protocol import ModelError
from assistant.core.values.messages import FinishReason
from assistant.toolkit.translation import gettext_noop

# Providers' names of the finish reasons; with any other reason the answer may be incomplete.
REASONS: dict[str, FinishReason] = {
    **dict.fromkeys(("stop", "end_turn", "eos", "eos_token", "stop_sequence", "complete", "completed", "done"), "stop"),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use", "tool_call"), "tool_calls"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length", "token_limit"), "length"),
    "model_context_window_exceeded": "length",
    **dict.fromkeys(("content_filter", "content_filtered", "guardrail_intervened", "sensitive"), "content_filter"),
    **dict.fromkeys(("safety", "recitation", "blocklist", "prohibited_content", "spii"), "content_filter"),
    "refusal": "refusal",
}
# What some servers send in place of no reason.
NO_REASON = frozenset({"null", "none", "undefined", "finish_reason_unspecified"})
# Reasons of a server that gave up; the same request may succeed soon.
GAVE_UP = frozenset({"error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource"})
# Reasons of a server that could not read the model's call: Gemini's own, and as gateways pass it on.
_BAD_CALLS = frozenset({"function_call_filter", "malformed_function_call", "unexpected_tool_call"})
# Reasons for an incomplete answer; a later reason does not replace these.
CUTS = {"length", "content_filter", "refusal"}

EMPTY = gettext_noop("The provider sent an empty answer.")
NOT_TEXT = gettext_noop("The model answered with an image or sound alone, which cannot be shown here.")
CUT = gettext_noop("The provider's answer broke off before its end.")
CALL_CUT = gettext_noop("The answer ended in the middle of a tool call, which was not run.")
CALL_REFUSED = gettext_noop("The model refused to continue after a tool call, which was not run.")
CONTRADICTED = gettext_noop("The provider ended the answer with another text than it had sent.")
NO_CALL = gettext_noop("The model announced a tool call and sent none.")


def known_name(given: str) -> str:
    """Return the name of a finish reason in lower case; "" for what some servers send in place of none.

    Gemini adds a reason of its own: `content_filter: SAFETY`, `function_call_filter: MALFORMED_FUNCTION_CALL`.

    Raises:
        ModelError: the provider could not read the model's call.
    """
    name, _, own = given.lower().partition(": ")
    if name in _BAD_CALLS:
        error = ModelError(NO_CALL, kind="bad_call")
        error.add_note(f"finish_reason {given[:60]!r}")
        raise error
    return "" if name in NO_REASON else name if own and name in REASONS else given.lower()


def without_text(*, has_media: bool) -> ModelError:
    """Return the error for an answer without text and calls, which is asked once more unless it was one in itself.

    Args:
        has_media: whether the answer had an image or sound.
    """
    return ModelError(NOT_TEXT) if has_media else ModelError(EMPTY, kind="empty")


def reason_of(name: str, *, is_closed: bool, has_calls: bool, is_refused: bool) -> FinishReason:
    """Return why an answer ended.

    Args:
        name: of the finish reason that the provider gave; "" for none.
        is_closed: the provider has ended the stream.

    Raises:
        ModelError: the answer is cut off, or a call was lost.
    """
    if not name:
        if not is_closed:
            raise ModelError(CUT, kind="down")
        name = "stop"
    reason = REASONS.get(name)
    if reason is None:
        has_given_up = name in GAVE_UP
        error = ModelError(CUT, kind="down" if has_given_up else "")
        error.is_worth_repeating = has_given_up
        error.add_note(f"finish_reason {name[:40]!r}")
        raise error
    if reason == "tool_calls" and not has_calls:
        raise ModelError(NO_CALL)
    if reason == "stop":
        return "tool_calls" if has_calls else "refusal" if is_refused else "stop"
    return reason
